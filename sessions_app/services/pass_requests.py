"""Passes that a person asks for: made by a job, under the lock of the session, whatever cadence and threshold say."""

from __future__ import annotations

import secrets
from typing import Final

from compaction.errors import InvalidInput
from compaction.storable import storable_text
from compaction.wording import worded
from sessions_app.deferring import defer_pass
from sessions_app.models import Session, TurnStep

MOST_FOCUS_CHARS: Final = 500
REQUESTABLE: Final = (TurnStep.MICRO, TurnStep.BATCH)


def request_pass(session_id: int, step: TurnStep, focus: str = "") -> str:
    """Ask for a micro pass or a batch now; returns the id of the request, which the stored pass carries.

    focus: what a batch is to keep above all, may be empty. Raises Session.DoesNotExist, and InvalidInput for a kind of
    pass that can't be asked for and a focus that can't be used.
    """
    if step not in REQUESTABLE:
        raise InvalidInput(worded("only a micro pass or a batch can be asked for"), "kind")
    wanted = " ".join(storable_text(focus).split())
    if wanted and step != TurnStep.BATCH:
        raise InvalidInput(worded("only a batch takes a focus"), "focus")
    if len(wanted) > MOST_FOCUS_CHARS:
        raise InvalidInput(
            worded("a focus has at most {} characters, not {:,}", MOST_FOCUS_CHARS, len(wanted)), "focus"
        )
    session = Session.objects.only("pk").get(pk=session_id)
    request_id = f"request:{secrets.token_hex(8)}"
    defer_pass(session.pk, step, wanted, request_id)
    return request_id
