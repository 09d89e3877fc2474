"""Exchanges: the agent's part of one turn, the unit a micro pass absorbs. And the cursor that walks over them.

An exchange runs from an assistant row over its tool results and further assistant rows to just before the next row
of another role. It holds no user row and is complete only when such a closing row follows (ENGINE 4.1). The cursor is
the place just past the last absorbed or skipped row, compared by position (ENGINE 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compaction.messages import Role, Row, RowKey
from compaction.tool_pairs import call_ids, closes_round, result_id
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
    ends the search. An exchange that shares a call and its result with rows outside is passed over: absorbing it would
    tear the two apart.
    """
    rows = transcript.forward(cursor)
    row = next(rows, None)
    while row is not None and (tail_start is None or row.key < tail_start):
        if not _is_agent_row(row) or row.role is not Role.ASSISTANT:
            row = next(rows, None)
            continue
        members, row = _collect(row, rows, tail_start)
        if row is None or row.role in _AGENT_ROLES:
            return
        if not _shares_a_call(members, transcript, row):
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


def _shares_a_call(members: list[Row], transcript: Transcript, closing: Row) -> bool:
    """Whether a result among `members` answers a call outside, or a call among them is answered behind `closing`."""
    waiting: list[frozenset[str]] = []
    for row in members:
        waiting.extend(ids for call in row.message.tool_calls if (ids := call_ids(call)))
        name = result_id(row.message)
        if row.role is Role.TOOL and name:
            answered = next((ids for ids in waiting if name in ids), None)
            if answered is None:
                return True
            waiting.remove(answered)
    return bool(waiting) and _is_answered_behind(waiting, transcript, closing)


def _is_answered_behind(waiting: list[frozenset[str]], transcript: Transcript, closing: Row) -> bool:
    """Whether a result for one of the `waiting` calls comes before the agent's next plain text closes the round."""
    for row in transcript.forward(closing.key):
        if row.role is Role.TOOL and any(result_id(row.message) in ids for ids in waiting):
            return True
        if closes_round(row.message):
            return False
    return False
