"""Turns of a session: their spans as rows arrive, and the times at which they pass through their end.

A turn ends in three steps: the reply was sent, the pass after it runs (finalizing), the turn is over. The pass is a
job, so the first step never waits for the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Case, When

from sessions_app import clock
from sessions_app.deferring import defer_finalize_turn
from sessions_app.models import EventKind, Session, SessionStatus, Turn, TurnStep
from sessions_app.notifications import TURN_KIND, Notice, notify
from sessions_app.queries.told import told_rows
from sessions_app.services.locking import lock_session, record_event, save_locked
from sessions_app.turn_tracking import TurnSpan, TurnTracker


def tracker_of(session: Session) -> TurnTracker:
    """A tracker that goes on where the rows of a locked session end. What a rewind or a reset took out is not followed
    by anything."""
    last = told_rows(session).order_by("-position", "-id").only("role", "by_person").first()
    return TurnTracker(session.turns_total, last is not None and last.role == "user" and last.by_person)


def save_turns(session_id: int, spans: Sequence[TurnSpan]) -> None:
    """Insert the turns that are new and extend the one that goes on."""
    known = set(
        Turn.objects.filter(session_id=session_id, number__in=[span.number for span in spans]).values_list(
            "number", flat=True
        )
    )
    Turn.objects.bulk_create([_turn(session_id, span) for span in spans if span.number not in known])
    for span in spans:
        if span.number in known:
            _extend_turn(session_id, span)


def _extend_turn(session_id: int, span: TurnSpan) -> None:
    turn = Turn.objects.filter(session_id=session_id, number=span.number)
    turn.update(last_position=span.last_position, is_finished=span.is_finished)
    if span.ended_at is not None or span.interrupted:
        turn.update(ended_at=span.ended_at, interrupted=span.interrupted)


def _turn(session_id: int, span: TurnSpan) -> Turn:
    return Turn(
        session_id=session_id,
        number=span.number,
        first_position=span.first_position,
        last_position=span.last_position,
        started_at=span.started_at,
        ended_at=span.ended_at,
        is_finished=span.is_finished,
        interrupted=span.interrupted,
    )


def finish_turn(session_id: int, *, interrupted: bool = False, deferring: bool = True) -> int | None:
    """Note that the reply of the newest turn was sent; returns its number, None when there is no turn.

    The job that runs the pass is asked for in the same transaction, unless `deferring` is off: then the caller runs it.
    Calling it again for the same turn changes nothing.
    """
    with transaction.atomic():
        session = lock_session(session_id)
        turn = Turn.objects.filter(session_id=session_id, number=session.turns_total).first()
        if turn is None or turn.reply_sent_at is not None:
            return None
        turn.reply_sent_at = clock.now()
        turn.interrupted = interrupted
        turn.is_finished = turn.is_finished and not interrupted
        turn.save(update_fields=["reply_sent_at", "interrupted", "is_finished"])
        record_event(session, EventKind.TURN_FINISHED)
        session.status = SessionStatus.IDLE
        save_locked(session, "status")
        if deferring:
            defer_finalize_turn(session_id)
    return turn.number


def mark_finalizing(turn: Turn) -> None:
    """Note that the pass after `turn` begins. A second attempt keeps the first time."""
    with transaction.atomic():
        begun = Turn.objects.filter(pk=turn.pk, finalizing_at__isnull=True)
        if begun.update(finalizing_at=clock.now()):
            _tell_of_turn(turn.session_id, turn.number)


def take_step(session_id: int, number: int, step: TurnStep) -> bool:
    """Mark a step of a turn's end as done, in the transaction that stores its result; False when it, or a later one,
    was done before."""
    turn = Turn.objects.filter(session_id=session_id, number=number, step_done__lt=step)
    return turn.update(step_done=step) > 0


def is_step_done(session_id: int, number: int | None, step: TurnStep) -> bool:
    """Whether a step of a turn's end, or a later one, was done; False for a pass that belongs to no turn."""
    if number is None:
        return False
    return Turn.objects.filter(session_id=session_id, number=number, step_done__gte=step).exists()


def end_turn(session_id: int, number: int) -> None:
    """Note that a turn is over, whatever came of its pass. A turn that was over before keeps its time."""
    with transaction.atomic():
        turn = Turn.objects.filter(session_id=session_id, number=number, ended_at__isnull=True)
        if turn.update(ended_at=clock.now()):
            _tell_of_turn(session_id, number)


def _tell_of_turn(session_id: int, number: int) -> None:
    """The end of a turn is no event of the session, but a page shows it."""
    notify(Notice(session_id, 0, TURN_KIND, (number,)))


def reopen_turn(session_id: int, number: int, last_position: int) -> None:
    """Let a turn go on whose end was taken back: its newest row is at `last_position`, and no reply was sent."""
    Turn.objects.filter(session_id=session_id, number=number).update(
        last_position=last_position,
        is_finished=False,
        interrupted=False,
        reply_sent_at=None,
        finalizing_at=None,
        ended_at=None,
        step_done=TurnStep.NONE,
    )


def end_abandoned_turns(session_id: int, before: int) -> None:
    """End turns that nobody finished before the next one began: interrupted, unless they had come to their answer."""
    left = Turn.objects.filter(
        session_id=session_id, number__lt=before, reply_sent_at__isnull=True, ended_at__isnull=True
    )
    left.update(ended_at=clock.now(), interrupted=Case(When(is_finished=True, then=False), default=True))
