"""The rows of a source session as a replay is fed with them: everything that was appended and not taken back.

Summaries that another program made are results of its compaction, not input to ours, so they are left out; rows that
a rewind took back never counted for the conversation that followed. A summary a session began with (it was appended,
no pass made it) is input like any other row.
"""

from __future__ import annotations

from collections.abc import Iterable

from compaction.formats.events import RowAppended, RowsRewound, SourceEvent, SourceRow
from compaction.messages import Row
from compaction.tokens import TokenCounter, reasoning_tokens, row_tokens


def rows_to_feed(events: Iterable[SourceEvent], counter: TokenCounter) -> tuple[Row, ...]:
    """Rows in order; id and position are the row's number over all appended rows, counted from 0."""
    return tuple(_row(number, source, counter) for number, source in appended_rows(events))


def appended_rows(events: Iterable[SourceEvent]) -> tuple[tuple[int, SourceRow], ...]:
    """What was appended and not taken back, in order, each row with its number over all appended rows, from 0."""
    appended: list[SourceRow] = []
    taken_back: set[str] = set()
    for event in events:
        match event:
            case RowAppended(row):
                appended.append(row)
            case RowsRewound(foreign_ids):
                taken_back.update(foreign_ids)
    return tuple((number, source) for number, source in enumerate(appended) if source.foreign_id not in taken_back)


def _row(number: int, source: SourceRow, counter: TokenCounter) -> Row:
    return Row(
        id=number,
        position=number,
        message=source.message,
        tokens=row_tokens(source.message, counter),
        kind=source.kind,
        by_person=source.by_person,
        reasoning_tokens=reasoning_tokens(source.message, counter),
    )
