"""Encrypts the keys that projects store, with keys that only the environment holds.

A stored key says inside of its encryption which project and name it belongs to, so a copied row is of no use elsewhere.
Several site keys can be in force: the first one encrypts, each of them decrypts, so a key can be replaced.
"""

from __future__ import annotations

import json
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from compaction.wording import worded

VARIABLE: Final = "HERMES_SITE_SECRETS_KEY"


class SecretsUnavailable(Exception):
    """A key can't be stored or read: there is no site key, or not the one it was stored with. `said` says so."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


def can_store() -> bool:
    """Whether this site can keep keys at all."""
    return bool(settings.SECRETS_KEYS)


def seal(project_id: int, name: str, value: str) -> str:
    """The encrypted form of a key. Raises SecretsUnavailable without a site key."""
    return _box().encrypt(json.dumps([project_id, name, value]).encode()).decode()


def unseal(project_id: int, name: str, ciphertext: str) -> str:
    """The key again. Raises SecretsUnavailable when it can't be read or belongs to another place."""
    try:
        place_and_value = json.loads(_box().decrypt(ciphertext.encode()))
    except InvalidToken:
        raise SecretsUnavailable(
            worded("The key {} was stored with another {}. Store it again.", name, VARIABLE)
        ) from None
    if place_and_value[:2] != [project_id, name]:
        raise SecretsUnavailable(worded("The key {} was stored for another place.", name))
    return str(place_and_value[2])


def sealed_anew(ciphertext: str) -> str:
    """The same under the site's first key. Raises SecretsUnavailable when no key in force reads it."""
    try:
        return _box().rotate(ciphertext.encode()).decode()
    except InvalidToken:
        raise SecretsUnavailable(worded("No key in {} reads it.", VARIABLE)) from None


def _box() -> MultiFernet:
    if not settings.SECRETS_KEYS:
        raise SecretsUnavailable(
            worded(
                "This site can't keep keys: {} is not set. Name an environment variable instead, or set it.", VARIABLE
            )
        )
    return MultiFernet([Fernet(key) for key in settings.SECRETS_KEYS])
