"""One source session into one stored session, in one transaction.

The events are folded in order. Rows are gathered into chunks and copied; a pass or a rewind first writes what is
waiting, so that the rows it names are there to be stamped. What is stored already is recognised and counted, so a
source that grew goes on where it stopped.
"""

from __future__ import annotations

import json
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from compaction.formats.events import (
    PassRecorded,
    PassTried,
    Problem,
    ProblemKind,
    RowAppended,
    RowsRewound,
    SourceSession,
    TurnEnded,
)
from compaction.formats.own_ledger import OwnLedger
from compaction.messages import Role
from compaction.storable import storable_text
from compaction.tokens import TokenCounter
from compaction.wording import worded
from sessions_app.importing.outcomes import SessionImport
from sessions_app.importing.passes import PassWriter
from sessions_app.importing.restoring import UnusableLedger, can_restore, restore
from sessions_app.importing.rows import RowWriter
from sessions_app.mapping import MAX_INT4, storable_count, storable_id, storable_json, storable_or_none, storable_time
from sessions_app.models import EventKind, Project, Session, SessionStatus
from sessions_app.restored import RESTORED_CALL, RESTORED_SEQ
from sessions_app.services.lifecycle import new_public_id
from sessions_app.services.locking import lock_session, save_locked, tell, touch
from sessions_app.services.thresholds import set_threshold

_FACT_COLUMNS = (
    "title",
    "model",
    "window_tokens",
    "fixed_overhead_tokens",
    "threshold_tokens",
    "threshold_source",
    "started_at",
    "ended_at",
    "end_reason",
    "parent_foreign_id",
    "parent_link",
    "parent_call_id",
    "extras",
    "is_damaged",
    "status",
)
_PASS_COLUMNS = (
    "passes_total",
    "micro_passes",
    "defrag_passes",
    "batch_passes",
    "prune_passes",
    "failed_passes",
)

TITLE_CHARS = 80
_ONLY_WHOLE = worded("only a whole export can bring this copy up to date; nothing was taken over")
_HAS_CHANGED = worded("this copy has been changed since it was restored; nothing was taken over")


def import_session(project: Project, source: SourceSession, counter: TokenCounter) -> SessionImport:
    """Store what is new in `source`. Nothing at all is stored when reading it fails half way."""
    outcome = SessionImport(foreign_id=source.foreign_id, title=source.title)
    with transaction.atomic():
        session, outcome.is_new = _find_or_create(project, source)
        outcome.public_id = session.public_id
        if source.ledger is not None and can_restore(session, is_new=outcome.is_new):
            if _try_to_restore(session, source, source.ledger, outcome):
                return outcome
            session = lock_session(session.pk)
        if RESTORED_SEQ in session.extras:
            _leave_alone(session, outcome)
            return outcome
        _set_facts(session, source)
        rows = RowWriter(session, counter, outcome)
        passes = PassWriter(session, counter, rows, outcome)
        for event in source.events():
            match event:
                case RowAppended() | TurnEnded():
                    rows.add(event)
                case PassRecorded():
                    passes.record(event)
                case PassTried():
                    passes.note_tried(event)
                case RowsRewound():
                    passes.rewind(event)
        rows.flush()
        _finish(session, outcome)
    return outcome


def _try_to_restore(session: Session, source: SourceSession, ledger: OwnLedger, outcome: SessionImport) -> bool:
    """Write the session as an export of this program holds it; False, with a problem told, when that can't be."""
    before, restored_seq = session.last_seq, session.extras.get(RESTORED_SEQ)
    _set_facts(session, source)
    if restored_seq is not None:
        session.extras = {**session.extras, RESTORED_SEQ: restored_seq}
    try:
        restore(session, ledger, outcome)
    except UnusableLedger as error:
        outcome.forget_counts()
        words = worded(
            "the export does not hold together, so it can only be read as a plain transcript: {}", str(error)
        )
        outcome.problems.append(Problem(ProblemKind.ODD_SHAPE, words, skipped=False))
        return False
    outcome.title = outcome.title or session.title
    if session.last_seq != before:
        tell(session, EventKind.IMPORTED)
    return True


def _leave_alone(session: Session, outcome: SessionImport) -> None:
    """Tell that a restored copy stays as it is. Its passes carry no identity by which a transcript could find them
    again: they would be stored twice."""
    outcome.title = outcome.title or session.title
    words = _ONLY_WHOLE if can_restore(session, is_new=False) else _HAS_CHANGED
    outcome.problems.append(Problem(ProblemKind.ODD_SHAPE, words, skipped=False))


def _find_or_create(project: Project, source: SourceSession) -> tuple[Session, bool]:
    """The stored session of the source, locked, and whether it is new. Of two imports at once the second one waits."""
    known = {"project": project, "source": source.source, "foreign_id": storable_id(source.foreign_id)}
    found = Session.objects.filter(**known).first()
    if found is None:
        try:
            with transaction.atomic():
                new = Session.objects.create(**known, public_id=new_public_id(), listed_at=timezone.now())
            return lock_session(new.pk), True
        except IntegrityError:
            found = Session.objects.get(**known)
    return lock_session(found.pk), False


def _set_facts(session: Session, source: SourceSession) -> None:
    """Take over what the source says now; what it does not say stays as it was known."""
    session.title = storable_text(source.title) or session.title
    session.model = storable_or_none(source.model) or session.model
    session.window_tokens = storable_count(source.window_tokens, MAX_INT4) or session.window_tokens
    overhead = storable_count(source.fixed_overhead_tokens, MAX_INT4)
    session.fixed_overhead_tokens = session.fixed_overhead_tokens if overhead is None else overhead
    session.started_at = storable_time(source.started_at) or session.started_at
    session.ended_at = storable_time(source.ended_at) or session.ended_at
    session.end_reason = storable_or_none(source.end_reason) or session.end_reason
    if source.parent_foreign_id is not None:
        session.parent_foreign_id = storable_id(source.parent_foreign_id)
        session.parent_link = storable_or_none(source.parent_link)
        session.parent_call_id = storable_or_none(source.parent_call_id)
    set_threshold(session)
    session.extras = _extras(source)
    session.is_damaged = source.is_damaged
    session.status = SessionStatus.IDLE if session.ended_at is None else SessionStatus.ENDED


def _extras(source: SourceSession) -> dict[str, Any]:
    extras = json.loads(source.extras or "{}")
    if not isinstance(extras, dict):
        extras = {"extras": extras}
    if source.cwd is not None:
        extras["cwd"] = source.cwd
    stored: dict[str, Any] = storable_json(extras)
    return {name: value for name, value in stored.items() if name not in (RESTORED_SEQ, RESTORED_CALL)}


def _first_words(session: Session) -> str:
    """A title for a session whose source gives none: the first line of the first request, cut to a line's length."""
    first = session.rows.filter(role=Role.USER, by_person=True, content__isnull=False).order_by("position").first()
    line = next((line.strip() for line in (first.content or "").splitlines() if line.strip()), "") if first else ""
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def _finish(session: Session, outcome: SessionImport) -> None:
    session.title = session.title or _first_words(session)
    outcome.title = outcome.title or session.title
    if session.last_activity_at is None:
        known = session.ended_at or session.started_at
        if known is not None:
            touch(session, known)
    save_locked(session, *_FACT_COLUMNS, *_PASS_COLUMNS)
    if outcome.has_changed:
        tell(session, EventKind.IMPORTED)
