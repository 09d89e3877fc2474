"""The lock every write of a session begins with, and the events it ends with.

Must be used inside a transaction. The idea: a locked session is a plain object whose counters, sequence number and
position are moved in memory; `save_locked` writes them back once, and `record_event` notes each step with the totals
of that moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from sessions_app import clock
from sessions_app.counters import COUNTER_COLUMNS
from sessions_app.models import CompactionPass, EventKind, Session, SessionEvent
from sessions_app.notifications import MAX_IDS, Notice, notify

_ALWAYS_SAVED: Final = (
    *COUNTER_COLUMNS,
    "last_seq",
    "next_position",
    "compaction_revision",
    "turns_total",
    "last_activity_at",
    "listed_at",
)


def lock_session(session_id: int) -> Session:
    """The session, locked until the transaction ends. Raises Session.DoesNotExist."""
    return Session.objects.select_for_update().get(pk=session_id)


def lock_sessions(session_ids: Iterable[int]) -> dict[int, Session]:
    """Those of the sessions that exist, by id, locked until the transaction ends.

    Whoever locks more than one does it here: all lock in the order of their ids, so no two wait for each other.
    """
    found = Session.objects.select_for_update().filter(pk__in=set(session_ids)).order_by("pk")
    return {session.pk: session for session in found}


def save_locked(session: Session, *more: str) -> None:
    """Write the moved totals back, and the columns named in `more`."""
    session.save(update_fields=[*_ALWAYS_SAVED, *more])


def touch(session: Session, at: datetime) -> None:
    """Note activity. It never moves back: a source's clock may."""
    if session.last_activity_at is None or at > session.last_activity_at:
        session.last_activity_at = session.listed_at = at


def next_event(
    session: Session,
    kind: EventKind,
    *,
    at: datetime | None = None,
    first_position: int | None = None,
    last_position: int | None = None,
    compaction_pass: CompactionPass | None = None,
) -> SessionEvent:
    """The unsaved event for the session's present totals. Takes the next sequence number."""
    session.last_seq += 1
    return event_at(
        session,
        session.last_seq,
        kind,
        at=at,
        first_position=first_position,
        last_position=last_position,
        compaction_pass=compaction_pass,
    )


def event_at(
    session: Session,
    seq: int,
    kind: EventKind,
    *,
    at: datetime | None = None,
    first_position: int | None = None,
    last_position: int | None = None,
    compaction_pass: CompactionPass | None = None,
) -> SessionEvent:
    """The unsaved event for a sequence number that was taken before."""
    return SessionEvent(
        session_id=session.pk,
        seq=seq,
        kind=kind,
        at=at,
        first_position=first_position,
        last_position=last_position,
        compaction_pass=compaction_pass,
        live_rows=session.live_rows,
        live_tokens=session.live_tokens,
        threshold_tokens=session.threshold_tokens,
    )


def record_event(session: Session, kind: EventKind) -> SessionEvent:
    """Store an event that concerns no rows, now, and tell the listeners. The caller still saves the session."""
    event = next_event(session, kind, at=clock.now())
    event.save(force_insert=True)
    tell(session, kind)
    return event


def tell(session: Session, kind: EventKind, row_ids: tuple[int, ...] = ()) -> None:
    """Notify listeners at commit. More ids than fit are left out: clients ask for everything after their last seq."""
    ids = row_ids if len(row_ids) <= MAX_IDS else ()
    notify(Notice(session=session.pk, seq=session.last_seq, kind=kind.value, ids=ids))
