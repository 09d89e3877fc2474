"""How the engine reads a session: only the live rows it needs, in either direction.

`Transcript` is the protocol that planning works on. A store answers it with a few small queries, so planning costs
the same for a hundred rows and for a million; `ListTranscript` answers it from memory. Totals are kept as counters by
whoever implements the protocol and are never recounted here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Protocol

from compaction.messages import Role, Row, RowKey


class RowOutline(Protocol):
    """What a walk back from the newest row looks at: where a row stands, who speaks and what it costs, never its words.

    A `Row` is one; a store can tell outlines without reading texts.
    """

    @property
    def key(self) -> RowKey:
        """The row's place in the order of its session."""

    @property
    def role(self) -> Role:
        """The message's role."""

    @property
    def tokens(self) -> int:
        """The stored cost."""

    @property
    def is_summary(self) -> bool:
        """Whether the row stands for rows that left the live context."""

    @property
    def opens_turn(self) -> bool:
        """Whether the row is a person's request."""


class Transcript(Protocol):
    """Read access to the live rows of one session, ordered by `RowKey`."""

    @property
    def live_rows(self) -> int:
        """Number of live rows."""

    @property
    def live_tokens(self) -> int:
        """Sum of the stored costs of the live rows."""

    def forward(self, start: RowKey | None = None) -> Iterator[Row]:
        """Live rows in order from the first one at or after `start` (from the first row when None)."""

    def backward(self) -> Iterator[RowOutline]:
        """The outlines of the live rows, newest first."""

    def summaries(self) -> Sequence[Row]:
        """Live summary rows in order: at most one micro summary, any number of batch summaries."""


class ListTranscript:
    """A transcript held in memory. `rows` must be in order; they are not copied."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._live_tokens = sum(row.tokens for row in rows)
        self._summaries = tuple(row for row in rows if row.is_summary)

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
        first = 0 if start is None else bisect_left(self._rows, start, key=lambda row: row.key)
        for index in range(first, len(self._rows)):
            yield self._rows[index]

    def backward(self) -> Iterator[Row]:
        """Live rows, newest first."""
        return reversed(self._rows)

    def summaries(self) -> Sequence[Row]:
        """Live summary rows in order."""
        return self._summaries
