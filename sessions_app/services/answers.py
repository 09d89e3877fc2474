"""The main model's answer as a row, together with the end of its turn.

One transaction stores both: a process that ends between the two would leave a turn open whose answer is there, and no
pass would come after it.
"""

from __future__ import annotations

from enum import StrEnum

from django.db import transaction

from compaction.tokens import TokenCounter
from sessions_app.services.appending import NewMessage, append_rows
from sessions_app.services.telling import store_told_answer
from sessions_app.services.turns import finish_turn


class TurnEnd(StrEnum):
    """What an answer means for its turn."""

    GOES_ON = "goes_on"
    OVER = "over"
    INTERRUPTED = "interrupted"


def store_answer(
    session_id: int, answer: NewMessage, turn_end: TurnEnd, counter: TokenCounter, *, base: str | None = None
) -> int | None:
    """Append an answer and end its turn if it ends one; returns its row.

    base: the prefix of the told history that it answers; None for a session that is not told. The result is None, and
    nothing is stored, when that history has gone on meanwhile. Raises Session.DoesNotExist.
    """
    with transaction.atomic():
        row_id = _append(session_id, answer, counter, base)
        if row_id is not None and turn_end is not TurnEnd.GOES_ON:
            finish_turn(session_id, interrupted=turn_end is TurnEnd.INTERRUPTED)
    return row_id


def _append(session_id: int, answer: NewMessage, counter: TokenCounter, base: str | None) -> int | None:
    if base is None:
        return append_rows(session_id, [answer], counter).row_ids[0]
    return store_told_answer(session_id, base, answer, counter)
