"""Something of ours that could not be stored beside a result that could: logged, and shown on the session.

Must not raise: whoever tells of a loss has a result in hand. What the database says can hold row contents, so only its
kind is told.
"""

from __future__ import annotations

import logging
from functools import partial

from django.db import connection, transaction

from compaction.wording import worded
from sessions_app.models import Session
from sessions_app.passes.faults import traceback_for_log
from sessions_app.services.lifecycle import note_failure

logger = logging.getLogger(__name__)


def tell_loss(session_id: int, what: str, error: Exception) -> None:
    """Tell that `what`, a wording, happened because of `error`. Within a transaction it is shown when that commits."""
    kind = type(error).__name__
    logger.error("session %s: %s (%s)", session_id, what, kind, exc_info=traceback_for_log(error))
    show = partial(_show, session_id, worded("{} ({}).", what, kind))
    if connection.in_atomic_block:
        transaction.on_commit(show)
        return
    # What broke may be the connection itself.
    connection.close()
    show()


def _show(session_id: int, words: str) -> None:
    try:
        note_failure(session_id, words)
    except Session.DoesNotExist:
        # Deleted meanwhile: nobody is left to be told.
        return
    except Exception as error:
        logger.error("session %s: the failure could not be shown (%s)", session_id, type(error).__name__)
