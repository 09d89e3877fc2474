"""Stored keys as the engine takes them: read for a request, and for nothing else."""

from __future__ import annotations

from compaction.endpoints.stored_key import StoredKey
from sessions_app.models import ProjectSecret
from sessions_app.secret_box import SecretsUnavailable, unseal


def stored_key(project_id: int, name: str) -> StoredKey | None:
    """The project's key of that name, with its place; with a problem instead of a value when it can't be read."""
    found = ProjectSecret.objects.filter(project_id=project_id, name=name).first() if name else None
    if found is None:
        return None
    try:
        return StoredKey(unseal(project_id, name, found.ciphertext), found.origin)
    except SecretsUnavailable as error:
        return StoredKey("", found.origin, error.said)
