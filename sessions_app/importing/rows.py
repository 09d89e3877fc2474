"""Appended rows of a source: gathered, held against what is stored, counted, and copied in."""

from __future__ import annotations

from compaction.formats.events import RowAppended, SourceRow, TurnEnded
from compaction.messages import RowKind
from compaction.storable import storable_text
from compaction.tokens import TokenCounter, reasoning_tokens, row_tokens
from sessions_app.counters import Counters
from sessions_app.importing.chunks import Chunk
from sessions_app.importing.copying import copy_events, copy_rows
from sessions_app.importing.outcomes import SessionImport
from sessions_app.mapping import (
    MAX_INT4,
    new_message_row,
    storable_count,
    storable_id,
    storable_or_none,
    storable_time,
)
from sessions_app.models import EventKind, MessageRow, Session, SessionEvent
from sessions_app.services.locking import next_event, touch
from sessions_app.services.row_words import index_copied_rows
from sessions_app.services.turns import save_turns, tracker_of


class RowWriter:
    """Writes the rows of one locked session. Counters and clock of the session are moved, not saved."""

    def __init__(self, session: Session, counter: TokenCounter, outcome: SessionImport) -> None:
        self._session = session
        self._counter = counter
        self._counters = Counters(session)
        self._outcome = outcome
        self._tracker = tracker_of(session)
        self._chunk = Chunk()
        # The end of a turn is news only behind a row that is.
        self._is_last_new = False

    def add(self, event: RowAppended | TurnEnded) -> None:
        """Take one more event; a full chunk is written."""
        self._chunk.add(event)
        if self._chunk.is_full:
            self.flush()

    def flush(self) -> None:
        """Write what was gathered."""
        events, self._chunk = self._chunk.events, Chunk()
        present = self._present(events)
        rows: list[MessageRow] = []
        born: list[SessionEvent] = []
        has_ended = False
        for event in events:
            if isinstance(event, RowAppended):
                self._is_last_new = self._take(event.row, present, rows, born)
            elif self._is_last_new:
                self._tracker.end(event.interrupted, storable_time(event.at))
                has_ended = True
        if rows:
            copy_rows(rows)
            index_copied_rows(self._session, rows)
            copy_events(born)
            self._session.turns_total = self._tracker.number
        if rows or has_ended:
            save_turns(self._session.pk, self._tracker.take())

    def _present(self, events: list[RowAppended | TurnEnded]) -> set[str]:
        """Ids of the gathered rows that are stored already."""
        wanted = [storable_id(event.row.foreign_id) for event in events if isinstance(event, RowAppended)]
        if not wanted or self._session.next_position == 0:
            return set()
        stored = MessageRow.objects.filter(session_id=self._session.pk, foreign_id__in=wanted)
        return {str(foreign_id) for foreign_id in stored.values_list("foreign_id", flat=True)}

    def _take(self, source: SourceRow, present: set[str], rows: list[MessageRow], born: list[SessionEvent]) -> bool:
        """Turn one source row into a row and its event; False when it is stored already."""
        foreign_id = storable_id(source.foreign_id)
        if foreign_id in present:
            self._outcome.rows_present += 1
            return False
        present.add(foreign_id)
        session = self._session
        position = session.next_position
        session.next_position += 1
        row = self.new_row(source, position, session.last_seq + 1)
        self._counters.born(RowKind(row.kind), source.message.role, row.tokens)
        born.append(next_event(session, EventKind.APPENDED, at=row.at, first_position=position, last_position=position))
        row.turn = self._tracker.place(source.message, source.by_person, position, row.at)
        if row.at is not None:
            touch(session, row.at)
        rows.append(row)
        self._outcome.rows_added += 1
        return True

    def new_row(self, source: SourceRow, position: int, born_seq: int) -> MessageRow:
        """An unsaved row for `source`, its tokens counted."""
        message = source.message
        known_reasoning = storable_count(source.reasoning_tokens, MAX_INT4)
        row = new_message_row(
            self._session.pk,
            message,
            position=position,
            born_seq=born_seq,
            tokens=row_tokens(message, self._counter),
            token_counter=self._counter.name,
            reasoning_tokens=reasoning_tokens(message, self._counter) if known_reasoning is None else known_reasoning,
            kind=source.kind,
            by_person=source.by_person,
        )
        row.foreign_id = storable_id(source.foreign_id)
        row.at = storable_time(source.at)
        row.model = storable_or_none(source.model)
        row.raw = storable_text(source.raw)
        row.input_tokens = storable_count(source.input_tokens)
        row.output_tokens = storable_count(source.output_tokens)
        row.cache_read_tokens = storable_count(source.cache_read_tokens)
        row.cache_write_tokens = storable_count(source.cache_write_tokens)
        row.source_line = storable_count(source.line)
        return row
