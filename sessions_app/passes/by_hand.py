"""A pass that a person asked for: made now, and tried again when somebody else changes the session first.

Best effort like the end of a turn: what goes wrong is logged and shown on the session.
"""

from __future__ import annotations

import logging

from django.db import Error

from sessions_app import services
from sessions_app.models import Session, TurnStep
from sessions_app.passes.faults import traceback_for_log
from sessions_app.passes.passing import Passing
from sessions_app.passes.retrying import run_pass_patiently
from sessions_app.services import Stale

logger = logging.getLogger(__name__)


def make_requested_pass(session_id: int, step: TurnStep, passing: Passing) -> None:
    """Make the pass a job was asked for. A job that runs again makes no second one."""
    try:
        done = run_pass_patiently(session_id, step, passing)
    except Session.DoesNotExist:
        return
    except Exception as error:
        asked = f"the {step.label} pass that was asked for failed ({type(error).__name__})"
        logger.error("session %s: %s", session_id, asked, exc_info=traceback_for_log(error))
        what = "the result could not be stored" if isinstance(error, Error) else "it ended with a fault of ours"
        services.note_failure(session_id, f"Pass that was asked for: {what} ({type(error).__name__}).")
        return
    if isinstance(done, Stale):
        services.note_failure(session_id, "Pass that was asked for: the session kept changing; ask again.")
