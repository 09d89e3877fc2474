"""Saving settings: a new revision every time, never a change of an old one.

The caller has validated what it saves. Who saves says on which revision the settings were made; when somebody else has
saved meanwhile nothing is written, and the caller shows both. Running passes keep the settings they began with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from compaction.main_model import MODEL, read_main_model
from compaction.policy_reading import without_secrets
from compaction.storable import storable_text
from compaction.wording import worded
from sessions_app.mapping import storable_json, storable_or_none
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
    """A new revision with `settings`: the two blocks and, where the main model changes too, its `model` block.

    base: the number of the revision that was changed; None saves whatever was saved before. source_text: the YAML the
    settings stand in, comments included. origin: for the audit log; without one it was the author, or the site.
    Raises PolicyConflict, and writes nothing, when `base` is not the newest.
    """
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project_id)
        newest = project.policy_revisions.order_by("-number").values_list("number", flat=True).first() or 0
        if base is not None and base != newest:
            raise PolicyConflict(newest)
        policy, model = split_model(settings)
        project.policy_settings = policy
        if model is not None:
            set_main_model(project, model)
        project.save(update_fields=["policy_settings", "main_model_settings", "main_model", "window_tokens"])
        refresh_thresholds(project)
        held = {MODEL: project.main_model_settings} if project.main_model_settings else {}
        revision = PolicyRevision.objects.create(
            project=project,
            number=newest + 1,
            settings={**policy, **held},
            author_id=None if author is None else author.pk,
            note=storable_text(note),
            source_text=None if source_text is None else storable_text(source_text),
        )
        _record(origin, author, project, worded("revision {}", revision.number), note)
    return revision


def split_model(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The blocks of the policy, and the main model's; None where it is not spoken of."""
    policy = {key: value for key, value in settings.items() if key != MODEL}
    return policy, dict(settings[MODEL]) if MODEL in settings else None


def set_main_model(project: Project, block: Mapping[str, Any]) -> None:
    """Set the main model, without secrets, on a project that the caller saves. Its model and window follow."""
    model = read_main_model(block).model
    project.main_model_settings = storable_json(without_secrets(block))
    project.main_model = storable_or_none(model.model or None)
    project.window_tokens = model.window_tokens


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
        subject = worded("session {}, revision {}", session.public_id, revision.number)
        _record(origin, author, session.project, subject, note)
    return revision


def _record(
    origin: AuditOrigin | None, author: AbstractBaseUser | None, project: Project, subject: str, note: str
) -> None:
    known = origin or AuditOrigin(AuditSource.SITE if author is None else AuditSource.PAGE, author)
    record_audit(known, AuditAction.SETTINGS_SAVED, project=project, subject=subject, details=(("note", note),))
