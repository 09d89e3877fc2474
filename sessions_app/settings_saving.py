"""Saving settings that a person made, wherever they stood: in the form, in a YAML file, in an old revision.

One way through for all: settings made on an older revision meet what was saved meanwhile and nothing is written; what
can't be used is refused; what is the same already makes no revision. Comments of a file the settings once came from
are carried along.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from compaction.config_yaml_editing import put_blocks
from compaction.policy_reading import without_secrets
from compaction.settings import Severity
from sessions_app.mapping import storable_json
from sessions_app.models import PolicyRevision, Project, Session, SessionPolicyRevision
from sessions_app.policy_changes import ABSENT, Meeting, changes, flat, meet, put
from sessions_app.policy_checking import Verdict, judge
from sessions_app.services.audit import AuditOrigin
from sessions_app.services.policies import PolicyConflict, save_policy, save_session_policy
from sessions_app.session_policy import blocks_of_project, newest_own_revision, newest_revision
from sessions_app.setting_paths import named_setting


@dataclass(frozen=True, slots=True)
class Saved:
    """A new revision, with what is worth knowing about it."""

    revision: PolicyRevision | SessionPolicyRevision
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was written: the settings can't be used as they stand."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing was written: these settings are in force already."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Nothing was written: somebody saved meanwhile. base: None where it is not known on what these were made.
    theirs: what is in force now."""

    base: int | None
    newest: PolicyRevision | SessionPolicyRevision | None
    theirs: Mapping[str, Any]
    meetings: tuple[Meeting, ...]


Ending = Saved | Refused | Unchanged | Conflict


@dataclass(frozen=True, slots=True)
class Wish:
    """Settings somebody wants saved. base: number of the revision they were made on, 0 for none. source_text: the YAML
    they stand in; None keeps the comments there are. origin: for the audit log."""

    blocks: Mapping[str, Any]
    base: int
    author: AbstractBaseUser | None
    note: str = ""
    accept_nearest: bool = False
    source_text: str | None = None
    origin: AuditOrigin | None = None


def save_settings(project: Project, wish: Wish) -> Ending:
    """Save the settings of a project."""
    newest = newest_revision(project)
    if wish.base != (0 if newest is None else newest.number):
        return _project_conflict(project, newest, wish)
    settled = _settle(project, wish, blocks_of_project(project))
    if not isinstance(settled, _Settled):
        return settled
    source = wish.source_text if wish.source_text is not None else (None if newest is None else newest.source_text)
    text = None if source is None else put_blocks(source, settled.blocks)
    try:
        revision = save_policy(
            project.pk, settled.blocks, wish.author, wish.note, base=wish.base, source_text=text, origin=wish.origin
        )
    except PolicyConflict:
        return _project_conflict(project, newest_revision(project), wish)
    return Saved(revision, settled.verdict)


def save_own_settings(session: Session, wish: Wish) -> Ending:
    """Save what is set for one session alone."""
    newest = newest_own_revision(session)
    if wish.base != (0 if newest is None else newest.number):
        return _session_conflict(session, newest, wish)
    settled = _settle(session, wish, {} if newest is None else newest.settings)
    if not isinstance(settled, _Settled):
        return settled
    try:
        revision = save_session_policy(
            session.pk, settled.blocks, wish.author, wish.note, base=wish.base, origin=wish.origin
        )
    except PolicyConflict:
        return _session_conflict(session, newest_own_revision(session), wish)
    return Saved(revision, settled.verdict)


@dataclass(frozen=True, slots=True)
class _Settled:
    blocks: dict[str, Any]
    verdict: Verdict


def _settle(place: Project | Session, wish: Wish, held: Mapping[str, Any]) -> _Settled | Refused | Unchanged:
    blocks: dict[str, Any] = storable_json(without_secrets(wish.blocks))
    if not changes(held, blocks):
        return Unchanged()
    verdict = judge(place, blocks, accept_nearest=wish.accept_nearest)
    if verdict.refusals:
        return Refused(verdict)
    return _Settled(with_nearest(blocks, verdict), verdict)


def with_nearest(blocks: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    """The blocks with the values that are used in place of those out of range, so that what is written is in force."""
    nearest = deepcopy(blocks)
    for problem in verdict.remarks:
        named = named_setting(problem.key)
        if problem.severity is not Severity.CLAMPED or named is None:
            continue
        value = named.value_in(verdict.reading.policy, verdict.main)
        given = flat(blocks).get(named.path)
        lowest = named.setting.lowest
        is_unset = named.setting.low_is_unset and isinstance(given, int | float) and given < (lowest or 0)
        put(nearest, named.path, ABSENT if is_unset else dict(value) if isinstance(value, tuple) else value)
    return nearest


def _project_conflict(project: Project, newest: PolicyRevision | None, wish: Wish) -> Conflict | Unchanged:
    base = project.policy_revisions.filter(number=wish.base).first()
    project.refresh_from_db()
    return _conflict(base, newest, blocks_of_project(project), wish)


def _session_conflict(session: Session, newest: SessionPolicyRevision | None, wish: Wish) -> Conflict | Unchanged:
    base = session.policy_revisions.filter(number=wish.base).first()
    return _conflict(base, newest, {} if newest is None else newest.settings, wish)


def _conflict(
    base: PolicyRevision | SessionPolicyRevision | None,
    newest: PolicyRevision | SessionPolicyRevision | None,
    theirs: Mapping[str, Any],
    wish: Wish,
) -> Conflict | Unchanged:
    if not changes(theirs, wish.blocks):
        return Unchanged()
    # Without a known base every difference is asked about: what nobody can place is nobody's to overwrite.
    started = {} if base is None else base.settings
    return Conflict(None if base is None else base.number, newest, theirs, meet(started, theirs, wish.blocks))
