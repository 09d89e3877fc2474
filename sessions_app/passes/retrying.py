"""A pass that is planned again when somebody else changes the session first: an undo, a rewind, another pass."""

from __future__ import annotations

from typing import Final

from compaction.passes import Nothing
from sessions_app.models import TurnStep
from sessions_app.passes.passing import Passing
from sessions_app.passes.running import run_pass
from sessions_app.services import Committed, Stale

MOST_TRIES: Final = 3


def run_pass_patiently(session_id: int, step: TurnStep, passing: Passing) -> Nothing | Committed | Stale:
    """Make the pass of this step that is due, if one is; stale only when it was overtaken every time, or when its step
    was done before. Raises what `run_pass` raises."""
    done = run_pass(session_id, step, passing)
    for _ in range(MOST_TRIES - 1):
        if not isinstance(done, Stale) or done.is_done:
            break
        done = run_pass(session_id, step, passing)
    return done
