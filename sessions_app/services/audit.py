"""Writing the audit log. Whoever changes something that matters says so here, in the transaction of the change.

An entry names things and figures; it never holds a secret or a text of a session. Should somebody have typed a key as a
name, it is masked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from django.contrib.auth.models import AbstractBaseUser

from compaction.redaction import redact
from compaction.storable import storable_text
from compaction.wording import reworded, wording_to_json
from sessions_app import clock
from sessions_app.models import AuditAction, AuditEntry, AuditSource, Project

MOST_SUBJECT_CHARS: Final = 300
MOST_DETAIL_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class AuditOrigin:
    """Where a deed comes from. user: who did it, None for a program. name: of the token or command."""

    source: AuditSource
    user: AbstractBaseUser | None = None
    name: str = ""
    address: str | None = None


THE_SITE: Final = AuditOrigin(AuditSource.SITE)


def record_audit(
    origin: AuditOrigin,
    action: AuditAction,
    *,
    project: Project | None = None,
    subject: str = "",
    details: Iterable[tuple[str, str]] = (),
) -> None:
    """Add one entry. subject: what it was done to. details: further pairs of words."""
    AuditEntry.objects.create(
        at=clock.now(),
        project=project,
        actor_id=None if origin.user is None else origin.user.pk,
        actor_name="" if origin.user is None else origin.user.get_username(),
        source=origin.source,
        source_name=_told(origin.name, 100),
        address=origin.address,
        action=action,
        subject=_told(subject, MOST_SUBJECT_CHARS),
        details=[[name, wording_to_json(_told(value, MOST_DETAIL_CHARS))] for name, value in details],
    )


def minute_of(moment: datetime) -> str:
    """A time as details tell it, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _told(text: str, most_chars: int) -> str:
    """The text as the log may keep it."""
    return reworded(text, lambda given: redact(storable_text(given)).text[:most_chars])
