"""The rows of a stored session as a simulated replay is fed with them: what was appended and not taken back.

Rows that a pass made (summaries, stubs, rewritten texts) are results of somebody's compaction and no input; rows that a
rewind took out never counted for the conversation that followed, and a reset begins a new one. A summary that a session
began with is input.
"""

from __future__ import annotations

from dataclasses import replace

from django.db.models import Q, QuerySet

from compaction.messages import Row
from compaction.tokens import TokenCounter, reasoning_tokens, row_tokens
from sessions_app.mapping import ROW_COLUMNS, row_of
from sessions_app.models import MessageRow, Session

_CHUNK = 500


def fed_rows(session_id: int, until_seq: int | None = None) -> QuerySet[MessageRow]:
    """The stored rows that are input, as the session was at event `until_seq`, or as it is."""
    appended = MessageRow.objects.filter(session_id=session_id, made_by__isnull=True)
    fed = appended.exclude(Q(died_seq__isnull=False) & Q(archived_by__isnull=True))
    if until_seq is not None:
        fed = fed.filter(born_seq__lte=until_seq)
    reset_seq = Session.objects.values_list("reset_seq", flat=True).get(pk=session_id)
    if reset_seq is None or (until_seq is not None and until_seq < reset_seq):
        return fed
    return fed.filter(Q(died_seq__isnull=True) | Q(died_seq__gt=reset_seq))


def rows_for_replay(session_id: int, counter: TokenCounter, until_seq: int | None = None) -> tuple[Row, ...]:
    """Rows in order, with the costs that `counter` gives them. until_seq: only rows appended up to this event."""
    stored = fed_rows(session_id, until_seq).order_by("position", "id").only(*ROW_COLUMNS, "token_counter")
    return tuple(_counted(row, counter) for row in stored.iterator(_CHUNK))


def _counted(stored: MessageRow, counter: TokenCounter) -> Row:
    row = row_of(stored)
    if stored.token_counter == counter.name:
        return row
    return replace(
        row,
        tokens=row_tokens(row.message, counter),
        reasoning_tokens=reasoning_tokens(row.message, counter),
    )
