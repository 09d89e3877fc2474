"""An exchange that was recorded in a session, as a question for summarizers: one of usual size, from its beginning.

Rows are read as they were appended, whatever passes have done to them since.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from compaction.exchanges import Exchange, exchanges_from
from compaction.messages import RowKey, RowKind
from compaction.transcript import ListTranscript
from sessions_app.mapping import ROW_COLUMNS, row_of
from sessions_app.queries.replay_rows import fed_rows

MOST_ROWS: Final = 400
MOST_EXCHANGES: Final = 40
# A greeting says nothing about how a model writes summaries.
LEAST_TOKENS: Final = 60


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """An exchange with the places of its first and last row."""

    exchange: Exchange

    @property
    def first(self) -> int:
        return self.exchange.first.position

    @property
    def last(self) -> int:
        return self.exchange.last.position


def usual_exchange(session_id: int) -> RecordedExchange | None:
    """The exchange of median size among the first of a session; None when it has no complete one."""
    stored = fed_rows(session_id).filter(kind=RowKind.MESSAGE.value).order_by("position", "id").only(*ROW_COLUMNS)
    rows = tuple(map(row_of, stored[:MOST_ROWS]))
    found = list(islice(exchanges_from(ListTranscript(rows), RowKey(0, 0), None), MOST_EXCHANGES))
    by_size = sorted(found, key=lambda exchange: (exchange.tokens, exchange.first))
    fitting = [exchange for exchange in by_size if exchange.tokens >= LEAST_TOKENS] or by_size[-1:]
    return RecordedExchange(fitting[len(fitting) // 2]) if fitting else None
