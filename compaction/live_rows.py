"""Live rows of one session in memory, growing and being edited: the transcript of a simulated replay.

Rows are kept in order; counters follow every change, so reading totals costs nothing however long the session is.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compaction.edits import Edit, NewRow, row_from_new
from compaction.messages import Row, RowKey


@dataclass(frozen=True, slots=True)
class Applied:
    """What an edit did: the rows that left, summaries apart, and the rows that were born."""

    archived: tuple[Row, ...] = ()
    superseded: tuple[Row, ...] = ()
    inserted: tuple[Row, ...] = ()


class LiveRows:
    """A `Transcript` that can be appended to and edited. Inserted rows get ids from `first_new_id` on."""

    def __init__(self, first_new_id: int) -> None:
        self._rows: list[Row] = []
        self._keys: dict[int, RowKey] = {}
        self._summaries: list[Row] = []
        self._live_tokens = 0
        self._next_id = first_new_id

    @property
    def live_rows(self) -> int:
        """Number of live rows."""
        return len(self._rows)

    @property
    def live_tokens(self) -> int:
        """Sum of the stored costs of the live rows."""
        return self._live_tokens

    def forward(self, start: RowKey | None = None) -> Iterator[Row]:
        """Live rows in order from the first one at or after `start`."""
        index = 0 if start is None else bisect_left(self._rows, start, key=_key)
        for position in range(index, len(self._rows)):
            yield self._rows[position]

    def backward(self) -> Iterator[Row]:
        """Live rows, newest first."""
        return reversed(self._rows)

    def summaries(self) -> Sequence[Row]:
        """Live summary rows in order."""
        return self._summaries

    def insert(self, row: Row) -> None:
        """Add `row` at its place; rows of a transcript come in order, so this is an append."""
        insort(self._rows, row, key=_key)
        self._keys[row.id] = row.key
        self._live_tokens += row.tokens
        if row.is_summary:
            insort(self._summaries, row, key=_key)

    def apply(self, edit: Edit) -> Applied:
        """Apply `edit`. Raises KeyError, before anything is changed, for rows that are not live."""
        for row_id in edit.removed:
            self._keys[row_id]
        archived = tuple(self._remove(row_id) for row_id in edit.archived)
        superseded = tuple(self._remove(row_id) for row_id in edit.superseded)
        return Applied(archived, superseded, tuple(self._bear(new) for new in edit.inserted))

    def _bear(self, new: NewRow) -> Row:
        row = row_from_new(new, self._next_id)
        self._next_id += 1
        self.insert(row)
        return row

    def _remove(self, row_id: int) -> Row:
        index = bisect_left(self._rows, self._keys.pop(row_id), key=_key)
        row = self._rows.pop(index)
        self._live_tokens -= row.tokens
        if row.is_summary:
            self._summaries.remove(row)
        return row


def _key(row: Row) -> RowKey:
    return row.key
