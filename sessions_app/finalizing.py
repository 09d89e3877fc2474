"""The end of turns: after each one whose reply was sent, the pass that is due.

Best effort: whatever goes wrong is logged and shown on the session, and the turn still ends. Called by a job, possibly
again after a crash: a turn that is over is never looked at twice.
"""

from __future__ import annotations

import logging

from django.db import Error

from compaction.summarizer import Summarizer
from compaction.tokens import TokenCounter
from sessions_app import services
from sessions_app.micro_passes import Passing, run_micro_pass
from sessions_app.models import Session, Turn
from sessions_app.queries.waiting import waiting_turns

logger = logging.getLogger(__name__)


def finalize_turns(session_id: int, summarizer: Summarizer, counter: TokenCounter) -> int:
    """End the turns of a session that wait for it, oldest first; returns how many."""
    turns = waiting_turns(session_id)
    for turn in turns:
        services.mark_finalizing(turn)
        try:
            if not _is_held(session_id, turn):
                run_micro_pass(session_id, Passing(summarizer, counter, turn))
        except Exception as error:
            logger.exception("session %s: the pass after turn %s failed", session_id, turn.number)
            _show(session_id, turn, error)
        services.end_turn(session_id, turn.number)
    return len(turns)


def _is_held(session_id: int, turn: Turn) -> bool:
    """Whether automatic passes are held; a hold that has run out is lifted."""
    session = Session.objects.only("is_held", "held_until_turn").get(pk=session_id)
    if not session.is_held:
        return False
    if session.held_until_turn is None or turn.number <= session.held_until_turn:
        return True
    services.resume_passes(session_id)
    return False


def _show(session_id: int, turn: Turn, error: Exception) -> None:
    """Put the failure on the session. What the database says can hold row contents, so only its kind is told."""
    what = "the result could not be stored" if isinstance(error, Error) else "it ended with a fault of ours"
    services.note_failure(session_id, f"Pass after turn {turn.number}: {what} ({type(error).__name__}).")
