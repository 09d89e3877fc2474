"""Exchanges: the agent's part of one turn, the unit a micro pass absorbs. And the cursor that walks over them.

An exchange runs from an assistant row over its tool results and further assistant rows to just before the next row
of another role. It holds no user row and is complete only when such a closing row follows (ENGINE 4.1). The cursor is
the place just past the last absorbed or skipped row, compared by position (ENGINE 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compaction.messages import Role, Row, RowKey
from compaction.transcript import Transcript

_AGENT_ROLES = frozenset({Role.ASSISTANT, Role.TOOL})


@dataclass(frozen=True, slots=True)
class Exchange:
    """The rows of one exchange, in order, never empty."""

    rows: tuple[Row, ...]

    @property
    def first(self) -> RowKey:
        """Key of the first row."""
        return self.rows[0].key

    @property
    def last(self) -> RowKey:
        """Key of the last row."""
        return self.rows[-1].key

    @property
    def tokens(self) -> int:
        """Sum of the stored costs of the rows."""
        return sum(row.tokens for row in self.rows)

    @property
    def end(self) -> RowKey:
        """Where the cursor stands once this exchange is absorbed or skipped."""
        return past(self.last)


def past(key: RowKey) -> RowKey:
    """The least place behind every row at the position of `key`."""
    return RowKey(key.position + 1, 0)


def resolve_cursor(transcript: Transcript, cursor: RowKey | None, start: RowKey, tail_start: RowKey | None) -> RowKey:
    """Where to look for the next exchange in the middle from `start` to `tail_start`.

    A cursor that is lost, stale or outside the middle is replaced by the place just past the live summary with the
    greatest position in the middle, or by the start of the middle when there is none.
    """
    if cursor is not None and start < cursor and (tail_start is None or cursor < tail_start):
        return cursor
    inside = [row.key for row in transcript.summaries() if _between(row.key, start, tail_start)]
    return RowKey(inside[-1].position, inside[-1].id + 1) if inside else start


def _between(key: RowKey, start: RowKey, end: RowKey | None) -> bool:
    return start <= key and (end is None or key < end)


def exchanges_from(transcript: Transcript, cursor: RowKey, tail_start: RowKey | None) -> Iterator[Exchange]:
    """Complete exchanges from `cursor` on, oldest first, up to the tail.

    Rows that are not assistant rows are passed over until an exchange begins; the first exchange that is not complete
    ends the search. An exchange whose results stand behind the closing row is passed over: absorbing it would tear a
    call from its result.
    """
    rows = transcript.forward(cursor)
    row = next(rows, None)
    while row is not None and (tail_start is None or row.key < tail_start):
        if not _is_agent_row(row) or row.role is not Role.ASSISTANT:
            row = next(rows, None)
            continue
        members, closing = _collect(row, rows, tail_start)
        if closing is None or closing.role in _AGENT_ROLES:
            return
        row, is_torn = _look_behind(closing, rows, _open_calls(members))
        if not is_torn:
            yield Exchange(tuple(members))


def _is_agent_row(row: Row) -> bool:
    return row.role in _AGENT_ROLES and not row.is_summary


def _collect(first: Row, rows: Iterator[Row], tail_start: RowKey | None) -> tuple[list[Row], Row | None]:
    """The agent rows from `first` on and the row that ends them; None when the transcript ends."""
    members = [first]
    for row in rows:
        if not _is_agent_row(row) or (tail_start is not None and row.key >= tail_start):
            return members, row
        members.append(row)
    return members, None


def _open_calls(members: list[Row]) -> bool:
    """Whether a call with an id has no result among `members`."""
    asked = {call.id for row in members for call in row.message.tool_calls if call.id}
    answered = {row.message.tool_call_id for row in members if row.role is Role.TOOL}
    return bool(asked - answered)


def _look_behind(closing: Row, rows: Iterator[Row], has_open_calls: bool) -> tuple[Row | None, bool]:
    """The first row behind the closing rows, and whether it is a result that an open call still waits for."""
    if not has_open_calls:
        return closing, False
    row: Row | None = closing
    while row is not None and not _is_agent_row(row) and not row.is_summary:
        row = next(rows, None)
    return row, row is not None and row.role is Role.TOOL
