"""Saving settings: a new revision every time, never a change of an old one.

The caller has validated what it saves. Who saves says on which revision the settings were made; when somebody else has
saved meanwhile nothing is written, and the caller shows both. Running passes keep the settings they began with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from compaction.storable import storable_text
from sessions_app.models import (
    AuditAction,
    AuditSource,
    PolicyRevision,
    Project,
    Session,
    SessionPolicyRevision,
)
from sessions_app.services.audit import AuditOrigin, record_audit
from sessions_app.services.thresholds import refresh_thresholds, set_threshold


class PolicyConflict(Exception):
    """Somebody saved other settings since those were read that this save began with. newest: number of theirs."""

    def __init__(self, newest: int) -> None:
        super().__init__(f"revision {newest} was saved meanwhile")
        self.newest = newest


def save_policy(
    project_id: int,
    settings: Mapping[str, Any],
    author: AbstractBaseUser | None,
    note: str = "",
    *,
    base: int | None = None,
    source_text: str | None = None,
    origin: AuditOrigin | None = None,
) -> PolicyRevision:
    """A new revision with `settings`. origin: for the audit log; without one it was the author, or the site.

    base: the number of the revision that was changed; None saves whatever was saved before. source_text: the YAML the
    settings stand in, comments included. Raises PolicyConflict, and writes nothing, when `base` is not the newest.
    """
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project_id)
        newest = project.policy_revisions.order_by("-number").values_list("number", flat=True).first() or 0
        if base is not None and base != newest:
            raise PolicyConflict(newest)
        project.policy_settings = dict(settings)
        project.save(update_fields=["policy_settings"])
        refresh_thresholds(project)
        revision = PolicyRevision.objects.create(
            project=project,
            number=newest + 1,
            settings=dict(settings),
            author_id=None if author is None else author.pk,
            note=storable_text(note),
            source_text=None if source_text is None else storable_text(source_text),
        )
        _record(origin, author, project, f"revision {revision.number}", note)
    return revision


def save_session_policy(
    session_id: int,
    settings: Mapping[str, Any],
    author: AbstractBaseUser | None,
    note: str = "",
    *,
    base: int | None = None,
    origin: AuditOrigin | None = None,
) -> SessionPolicyRevision:
    """What is set for one session alone from now on; empty blocks set nothing. base and errors: as above, 0 before the
    first. Raises Session.DoesNotExist."""
    with transaction.atomic():
        session = Session.objects.select_for_update(of=("self",)).select_related("project").get(pk=session_id)
        newest = session.policy_revisions.order_by("-number").values_list("number", flat=True).first() or 0
        if base is not None and base != newest:
            raise PolicyConflict(newest)
        session.policy_settings = dict(settings)
        set_threshold(session)
        session.save(update_fields=["policy_settings", "threshold_tokens", "threshold_source"])
        revision = SessionPolicyRevision.objects.create(
            session=session,
            number=newest + 1,
            settings=dict(settings),
            author_id=None if author is None else author.pk,
            note=storable_text(note),
        )
        _record(origin, author, session.project, f"session {session.public_id}, revision {revision.number}", note)
    return revision


def _record(
    origin: AuditOrigin | None, author: AbstractBaseUser | None, project: Project, subject: str, note: str
) -> None:
    known = origin or AuditOrigin(AuditSource.SITE if author is None else AuditSource.PAGE, author)
    record_audit(known, AuditAction.SETTINGS_SAVED, project=project, subject=subject, details=(("note", note),))
