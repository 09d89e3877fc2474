"""How secrets that are handed out once are stored: by their hash, so that the database can't give them away."""

from __future__ import annotations

import hashlib


def hash_secret(secret: str) -> str:
    """The form in which a secret is stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
