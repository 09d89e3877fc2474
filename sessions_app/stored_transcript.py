"""The live rows of a stored session as the engine's `Transcript`, read in small steps.

Must not write or lock. The idea: planning walks from the first row forward and from the newest row back and stops
early, so one statement reads the beginning of each walk, and whoever goes on gets growing chunks; totals come from the
session's counters. The transcript is fixed at the session's `last_seq` when it is opened: rows appended later are not
in it, and a pass that was committed later makes the plan stale (`revision`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import Final

from compaction.messages import Row, RowKey
from compaction.state import CompactionState
from sessions_app.mapping import OutlineColumns, StoredOutline, outline_of, row_from_columns, state_of
from sessions_app.models import Session
from sessions_app.queries.chunk_sizes import chunk_sizes
from sessions_app.queries.live_chunks import NEWEST_CHUNK, LiveChunks, Opening

SECOND_CHUNK: Final = 64
# Outlines are small, and a tail is often some hundred rows long.
SECOND_OUTLINES: Final = 256
LARGEST_CHUNK: Final = 512


class StoredTranscript:
    """Read access to the live rows of one session as they were when it was opened."""

    def __init__(self, session: Session) -> None:
        self._live_rows = session.live_rows
        self._live_tokens = session.live_tokens
        self._chunks = LiveChunks(session.pk, session.last_seq)
        self._opening: Opening | None = None
        self.revision: Final = session.compaction_revision
        self.state: Final[CompactionState] = state_of(session.state)

    @classmethod
    def open(cls, session_id: int) -> StoredTranscript:
        """The transcript of a session now. Raises Session.DoesNotExist."""
        return cls(Session.objects.get(pk=session_id))

    @property
    def live_rows(self) -> int:
        """Number of live rows."""
        return self._live_rows

    @property
    def live_tokens(self) -> int:
        """Sum of the stored costs of the live rows."""
        return self._live_tokens

    def forward(self, start: RowKey | None = None) -> Iterator[Row]:
        """Live rows in order from the first one at or after `start` (from the first row when None)."""
        position = None if start is None else start.position
        stretch = next((known for known in self._open().forward if known.holds(position)), None)
        if stretch is not None:
            yield from _from_key(map(row_from_columns, stretch.rows), start)
            if stretch.reaches_end:
                return
            position = stretch.rows[-1].position + 1
        yield from _from_key(self._forward_from(position or 0), start)

    def _forward_from(self, position: int) -> Iterator[Row]:
        for chunk in chunk_sizes(SECOND_CHUNK, LARGEST_CHUNK):
            found = self._chunks.from_position(position, chunk)
            yield from map(row_from_columns, found)
            if len(found) < chunk:
                return
            position = found[-1].position + 1

    def backward(self) -> Iterator[StoredOutline]:
        """The outlines of the live rows, newest first."""
        found: Sequence[OutlineColumns] = self._open().newest
        yield from map(outline_of, found)
        wanted = NEWEST_CHUNK
        for chunk in chunk_sizes(SECOND_OUTLINES, LARGEST_CHUNK):
            if len(found) < wanted:
                return
            found, wanted = self._chunks.before_position(found[-1].position, chunk), chunk
            yield from map(outline_of, found)

    def summaries(self) -> Sequence[Row]:
        """Live summary rows in order: at most one micro summary, any number of batch summaries."""
        return tuple(map(row_from_columns, self._open().summaries))

    def _open(self) -> Opening:
        if self._opening is None:
            cursor = self.state.cursor
            self._opening = self._chunks.opening(None if cursor is None else cursor.position)
        return self._opening


def _from_key(rows: Iterator[Row], start: RowKey | None) -> Iterator[Row]:
    """`rows`, which are in order, from the first one at or after `start`."""
    return rows if start is None else dropwhile(lambda row: row.key < start, rows)
