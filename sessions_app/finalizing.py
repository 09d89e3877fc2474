"""The end of turns: after each one whose reply was sent, the passes that are due.

In order: a micro pass as the cadence says, a batch when the context is over its threshold, a proactive prune. Best
effort: whatever goes wrong is logged and shown on the session, the next step is tried all the same, and the turn still
ends. Called by a job, possibly again after a crash: a step whose result is stored is not taken twice, and a turn that
is over is never looked at again.
"""

from __future__ import annotations

import logging

from compaction.summarizer import Summarizer
from compaction.tokens import TokenCounter
from compaction.wording import worded
from sessions_app import services
from sessions_app.models import Session, SessionStatus, Turn, TurnStep
from sessions_app.passes.failing import tell_failed_pass
from sessions_app.passes.passing import Passing
from sessions_app.passes.retrying import run_pass_patiently
from sessions_app.queries.waiting import waiting_turns
from sessions_app.services import Stale

logger = logging.getLogger(__name__)


def finalize_turns(session_id: int, summarizer: Summarizer, counter: TokenCounter) -> int:
    """End the turns of a session that wait for it, oldest first; returns how many. A session that is deleted meanwhile
    needs nothing more."""
    turns = waiting_turns(session_id)
    try:
        for turn in turns:
            _finalize(session_id, turn, Passing(summarizer, counter, turn))
    except Session.DoesNotExist:
        logger.info("session %s was deleted before its turns were over", session_id)
    return len(turns)


def _finalize(session_id: int, turn: Turn, passing: Passing) -> None:
    services.mark_finalizing(turn)
    if _may_compact(session_id, turn):
        _take_steps(session_id, passing, turn)
    services.end_turn(session_id, turn.number)


def _take_steps(session_id: int, passing: Passing, turn: Turn) -> None:
    for step in TurnStep:
        if step <= turn.step_done:
            continue
        try:
            done = run_pass_patiently(session_id, step, passing)
        except Session.DoesNotExist:
            raise
        except Exception as error:
            tell_failed_pass(session_id, step, worded("after turn {}", turn.number), error)
        else:
            if isinstance(done, Stale) and not done.is_done:
                services.note_failure(session_id, worded("Pass after turn {}: the session kept changing.", turn.number))


def _may_compact(session_id: int, turn: Turn) -> bool:
    """Whether automatic passes may run: not while they are held, and not for a session that nothing more comes to. A
    hold that has run out is lifted."""
    session = Session.objects.only("status", "is_held", "held_until_turn").get(pk=session_id)
    if session.status == SessionStatus.ENDED:
        return False
    if not session.is_held:
        return True
    if session.held_until_turn is None or turn.number <= session.held_until_turn:
        return False
    services.resume_passes(session_id)
    return True
