"""A pass that a person asked for: made now, and tried again when somebody else changes the session first.

Best effort like the end of a turn: what goes wrong is logged and shown on the session.
"""

from __future__ import annotations

from compaction.wording import worded
from sessions_app import services
from sessions_app.models import Session, TurnStep
from sessions_app.passes.failing import tell_failed_pass
from sessions_app.passes.passing import Passing
from sessions_app.passes.retrying import run_pass_patiently
from sessions_app.services import Stale


def make_requested_pass(session_id: int, step: TurnStep, passing: Passing) -> None:
    """Make the pass a job was asked for. A job that runs again makes no second one."""
    try:
        done = run_pass_patiently(session_id, step, passing)
    except Session.DoesNotExist:
        return
    except Exception as error:
        tell_failed_pass(session_id, step, worded("that was asked for"), error)
        return
    if isinstance(done, Stale):
        services.note_failure(session_id, worded("Pass that was asked for: the session kept changing; ask again."))
