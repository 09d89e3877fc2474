"""The live context of a session at one moment, with the number of that moment, read in one statement."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import F

from compaction.messages import Row
from sessions_app.mapping import ROW_COLUMNS, row_of
from sessions_app.models import Session
from sessions_app.queries.moments import live_rows, rows_as_of


@dataclass(frozen=True, slots=True)
class LiveContext:
    """The live rows right after event `seq`, in order."""

    seq: int
    rows: tuple[Row, ...]


def context_now(session: Session) -> LiveContext:
    """The live rows and the newest event, seen at the same moment although passes may commit meanwhile."""
    stored = list(live_rows(session.pk).only(*ROW_COLUMNS).annotate(newest_seq=F("session__last_seq")))
    seq: int = stored[0].newest_seq if stored else session.last_seq
    return LiveContext(seq, tuple(map(row_of, stored)))


def context_as_of(session: Session, seq: int) -> LiveContext:
    """The rows that were live right after event `seq`."""
    return LiveContext(seq, rows_as_of(session.pk, seq))
