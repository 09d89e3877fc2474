"""Keys that projects store: set, removed, encrypted anew. Reading one is `secret_keys`, for requests alone."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from sessions_app import clock
from sessions_app.models import AuditAction, Project, ProjectSecret
from sessions_app.secret_box import SecretsUnavailable, seal, sealed_anew
from sessions_app.services.audit import AuditOrigin, record_audit
from sessions_app.services.projects import lock_open_project


@dataclass(frozen=True, slots=True)
class Rotation:
    """How many keys are under the newest site key now, and which can't be read by any."""

    renewed: int
    unreadable: tuple[str, ...]


def store_secret(origin: AuditOrigin, project: Project, name: str, place: str, value: str) -> ProjectSecret:
    """Keep a key, or replace the one of that name. It is sent to the origin `place` only. Raises SecretsUnavailable
    and ProjectShut."""
    ciphertext = seal(project.pk, name, value)
    with transaction.atomic():
        lock_open_project(project)
        kept, _ = ProjectSecret.objects.update_or_create(
            project=project,
            name=name,
            defaults={
                "origin": place,
                "ciphertext": ciphertext,
                "set_by_id": None if origin.user is None else origin.user.pk,
                "set_at": clock.now(),
            },
        )
        record_audit(origin, AuditAction.SECRET_STORED, project=project, subject=name, details=(("for", place),))
    return kept


def remove_secret(origin: AuditOrigin, secret: ProjectSecret) -> None:
    """Forget a key. Passes that name it fail from then on and say that it is missing."""
    with transaction.atomic():
        record_audit(origin, AuditAction.SECRET_REMOVED, project=secret.project, subject=secret.name)
        secret.delete()


def rotate_secrets() -> Rotation:
    """Encrypt every stored key anew under the first site key. Raises SecretsUnavailable without one."""
    renewed, unreadable = 0, []
    for secret in ProjectSecret.objects.select_related("project").order_by("pk"):
        with transaction.atomic():
            locked = ProjectSecret.objects.select_for_update().filter(pk=secret.pk).first()
            if locked is None:
                continue
            try:
                locked.ciphertext = sealed_anew(locked.ciphertext)
            except SecretsUnavailable:
                unreadable.append(f"{secret.project.slug}/{secret.name}")
                continue
            locked.save(update_fields=["ciphertext"])
            renewed += 1
    return Rotation(renewed, tuple(unreadable))
