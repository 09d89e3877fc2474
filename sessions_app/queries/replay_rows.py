"""The rows of a stored session as a simulated replay is fed with them: what was appended and not taken back.

Rows that a pass made (summaries, stubs, rewritten texts) are results of somebody's compaction and no input; rows that a
rewind took out never counted for the conversation that followed, and a reset begins a new one. A summary that a session
began with is input.
"""

from __future__ import annotations

from dataclasses import replace

from django.db.models import Exists, OuterRef, Q, QuerySet

from compaction.messages import Row
from compaction.tokens import TokenCounter, reasoning_tokens, row_tokens
from sessions_app.mapping import ROW_COLUMNS, row_of
from sessions_app.models import EventKind, MessageRow, RowLifetime, Session, SessionEvent

_CHUNK = 500


def fed_rows(session_id: int, until_seq: int | None = None) -> QuerySet[MessageRow]:
    """The stored rows that are input, as the session was at event `until_seq`, or as it is.

    What was input at an event stays so, whatever is undone, taken back or begun anew later.
    """
    appended = MessageRow.objects.filter(session_id=session_id, made_by__isnull=True)
    if until_seq is not None:
        appended = _appended_by(appended, session_id, until_seq)
    is_over = Q(died_seq__isnull=False) if until_seq is None else Q(died_seq__lte=until_seq)
    fed = appended.exclude(is_over & Q(archived_by__isnull=True))
    reset_seq = _reset_by(session_id, until_seq)
    return fed if reset_seq is None else fed.filter(Q(died_seq__isnull=True) | Q(died_seq__gt=reset_seq))


def _appended_by(rows: QuerySet[MessageRow], session_id: int, until_seq: int) -> QuerySet[MessageRow]:
    """Those that were born by an event. An undo gives a row another birth; the first one is in its earlier lives."""
    earlier = RowLifetime.objects.filter(session_id=session_id, row_id=OuterRef("pk"), born_seq__lte=until_seq)
    return rows.filter(Q(born_seq__lte=until_seq) | Exists(earlier))


def _reset_by(session_id: int, until_seq: int | None) -> int | None:
    """The event at which the conversation had begun anew last; None when it never had."""
    newest = Session.objects.values_list("reset_seq", flat=True).get(pk=session_id)
    if newest is None or until_seq is None or newest <= until_seq:
        return newest
    resets = SessionEvent.objects.filter(session_id=session_id, kind=EventKind.RESET, seq__lte=until_seq)
    return resets.order_by("-seq").values_list("seq", flat=True).first()


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
