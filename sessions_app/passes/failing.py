"""A pass that ended with a fault: logged, and shown on its session. The session goes on."""

from __future__ import annotations

import logging

from django.db import Error

from compaction.wording import worded
from sessions_app import services
from sessions_app.models import TurnStep
from sessions_app.passes.faults import traceback_for_log

logger = logging.getLogger(__name__)


def tell_failed_pass(session_id: int, step: TurnStep, when: str, error: Exception) -> None:
    """Tell of `error`. when: which pass it was, as in "after turn 3". What the database says can hold row contents, so
    only its kind is told."""
    kind = type(error).__name__
    told = f"the {step.label} pass {when} failed ({kind})"
    logger.error("session %s: %s", session_id, told, exc_info=traceback_for_log(error))
    if isinstance(error, Error):
        services.note_failure(session_id, worded("Pass {}: the result could not be stored ({}).", when, kind))
    else:
        services.note_failure(session_id, worded("Pass {}: it ended with a fault of ours ({}).", when, kind))
