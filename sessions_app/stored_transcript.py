"""The live rows of a stored session as the engine's `Transcript`, read in small steps.

Must not write or lock. The idea: planning walks from the first row forward and from the newest row back and stops
early, so rows are fetched in chunks that start small, along the index of live positions; totals come from the
session's counters. The transcript is fixed at the session's `last_seq` when it is opened: rows appended later are not
in it, and a pass that was committed later makes the plan stale (`revision`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from django.db.models import Q, QuerySet

from compaction.messages import Row, RowKey, RowKind
from compaction.state import CompactionState
from sessions_app.mapping import ROW_COLUMNS, row_of, state_of
from sessions_app.models import MessageRow, Session

FIRST_CHUNK: Final = 32
LARGEST_CHUNK: Final = 512


class StoredTranscript:
    """Read access to the live rows of one session as they were when it was opened."""

    def __init__(self, session: Session) -> None:
        self._session_id = session.pk
        self._live_rows = session.live_rows
        self._live_tokens = session.live_tokens
        self._seq = session.last_seq
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
        rows = self._rows().order_by("position")
        if start is not None:
            rows = rows.filter(Q(position__gt=start.position) | Q(position=start.position, id__gte=start.id))
            # The index leads with the position; this bound lets the database begin there.
            rows = rows.filter(position__gte=start.position)
        for chunk in _chunk_sizes():
            found = list(rows[:chunk])
            yield from map(row_of, found)
            if len(found) < chunk:
                return
            rows = self._rows().order_by("position").filter(position__gt=found[-1].position)

    def backward(self) -> Iterator[Row]:
        """Live rows, newest first."""
        rows = self._rows().order_by("-position")
        for chunk in _chunk_sizes():
            found = list(rows[:chunk])
            yield from map(row_of, found)
            if len(found) < chunk:
                return
            rows = self._rows().order_by("-position").filter(position__lt=found[-1].position)

    def summaries(self) -> Sequence[Row]:
        """Live summary rows in order: at most one micro summary, any number of batch summaries."""
        kinds = [kind.value for kind in RowKind if kind.is_summary]
        return tuple(map(row_of, self._rows().filter(kind__in=kinds).order_by("position", "id")))

    def _rows(self) -> QuerySet[MessageRow]:
        live = MessageRow.objects.filter(session_id=self._session_id, died_seq__isnull=True)
        return live.filter(born_seq__lte=self._seq).only(*ROW_COLUMNS)


def _chunk_sizes() -> Iterator[int]:
    chunk = FIRST_CHUNK
    while True:
        yield chunk
        chunk = min(chunk * 2, LARGEST_CHUNK)
