"""Undo: the rows of the newest pass live again, as if it had not run.

Nothing is copied. The inserted rows die, then the absorbed rows and the superseded summary are born a second time;
the interval they had moves to `RowLifetime`, so what the model saw at any earlier event stays a fact.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet

from compaction.messages import Role, RowKind
from compaction.wording import worded
from sessions_app import clock
from sessions_app.counters import Counters
from sessions_app.models import (
    CompactionPass,
    EventKind,
    MessageRow,
    PassOrigin,
    RowLifetime,
    Session,
    SummaryRevision,
)
from sessions_app.queries.pass_places import place_of
from sessions_app.services.locking import event_at, lock_session, save_locked, tell


@dataclass(frozen=True, slots=True)
class Undone:
    """The pass was taken back at event `seq`; `revived` rows live again."""

    pass_id: int
    seq: int
    revived: int


class NothingToUndo(Exception):
    """There is no pass of the engine whose effect could be taken back."""


def undo_last_pass(session_id: int, hold_turns: int | None = None) -> Undone:
    """Take back the newest committed pass and hold automatic passes (`hold_turns` None: until resumed by hand).

    Raises NothingToUndo when there is none since the newest reset, or when it was recorded by another program and has
    no state to go back to.
    """
    with transaction.atomic():
        session = lock_session(session_id)
        undone = _newest_pass(session)
        session.last_seq += 1
        seq = session.last_seq
        _withdraw(session, undone, seq)
        revived = _revive(session, undone, seq)
        _restore(session, undone, hold_turns)
        event = event_at(session, seq, EventKind.UNDO, at=clock.now(), compaction_pass=undone)
        event.save(force_insert=True)
        save_locked(session, "state", "is_held", "held_until_turn")
        tell(session, EventKind.UNDO)
    return Undone(undone.pk, seq, revived)


def _newest_pass(session: Session) -> CompactionPass:
    newest = (
        CompactionPass.objects.filter(session_id=session.pk, committed=True, undone_seq__isnull=True)
        .order_by("-number")
        .first()
    )
    if newest is None or newest.seq <= (session.reset_seq or 0):
        raise NothingToUndo(worded("no pass has changed this session since it began"))
    if newest.origin != PassOrigin.ENGINE or newest.state_before is None:
        raise NothingToUndo(
            worded("pass {} was recorded by another program and can't be taken back here", newest.number)
        )
    return newest


def _withdraw(session: Session, undone: CompactionPass, seq: int) -> None:
    """The rows that the pass inserted die. No pass archived them: `archived_by` stays empty."""
    rows = MessageRow.objects.filter(session_id=session.pk, made_by=undone, died_seq__isnull=True)
    counters = Counters(session)
    for kind, role, tokens in rows.values_list("kind", "role", "tokens"):
        counters.rewound(RowKind(kind), Role(role), tokens)
    rows.update(died_seq=seq)


def _revive(session: Session, undone: CompactionPass, seq: int) -> int:
    rows: QuerySet[MessageRow] = MessageRow.objects.filter(session_id=session.pk, archived_by=undone)
    counters = Counters(session)
    lifetimes = []
    for row in rows.only("id", "kind", "role", "tokens", "born_seq", "died_seq"):
        assert row.died_seq is not None
        counters.revived(RowKind(row.kind), Role(row.role), row.tokens)
        lifetimes.append(
            RowLifetime(
                session_id=session.pk,
                row_id=row.pk,
                born_seq=row.born_seq,
                died_seq=row.died_seq,
                archived_by=undone,
            )
        )
    RowLifetime.objects.bulk_create(lifetimes)
    rows.update(born_seq=seq, died_seq=None, archived_by=None)
    return len(lifetimes)


def _restore(session: Session, undone: CompactionPass, hold_turns: int | None) -> None:
    session.state = undone.state_before
    session.compaction_revision += 1
    session.is_held = True
    session.held_until_turn = None if hold_turns is None else session.turns_total + hold_turns
    undone.undone_seq = session.last_seq
    undone.stand_at(place_of(undone))
    undone.save(update_fields=["undone_seq", "place_position", "place_id"])
    SummaryRevision.objects.filter(session_id=session.pk, superseded_by=undone).update(superseded_by=None)
