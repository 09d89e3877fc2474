"""Rows that arrive in a hosted session.

An append locks the session for a few short statements and never waits for a pass: passes ask their summarizer without
a lock, and an append that comes meanwhile just gets the next positions. A client's id makes it safe to send again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from compaction.messages import Message, Role, RowKind
from compaction.storable import storable_text
from compaction.tokens import TokenCounter, reasoning_tokens, row_tokens
from sessions_app import clock
from sessions_app.counters import Counters
from sessions_app.mapping import MAX_INT4, new_message_row, storable_count, storable_id, storable_or_none
from sessions_app.models import EventKind, MessageRow, Session, SessionEvent, SessionStatus
from sessions_app.services.locking import lock_session, next_event, save_locked, tell, touch
from sessions_app.services.row_words import index_rows
from sessions_app.services.turns import end_abandoned_turns, save_turns, tracker_of


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to append. client_id: the sender's own id; a message whose id is known already changes nothing.

    at: None means now. Usage in tokens as the provider reported it, None when unknown.
    """

    message: Message
    client_id: str | None = None
    by_person: bool = True
    at: datetime | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Appended:
    """What came of an append: the row ids of all messages as given, how many of them were new, the newest seq."""

    row_ids: tuple[int, ...]
    added: int
    already_present: int
    last_seq: int


@dataclass(frozen=True, slots=True)
class CountedMessage:
    """A message with its tokens, and those of its reasoning, None when it has none."""

    new: NewMessage
    client_id: str | None
    tokens: int
    reasoning_tokens: int | None


def append_rows(session_id: int, messages: Sequence[NewMessage], counter: TokenCounter) -> Appended:
    """Append `messages` in order. Tokens are counted before the lock is taken. Raises Session.DoesNotExist."""
    return append_counted(session_id, count_messages(messages, counter), counter.name)


def count_messages(messages: Sequence[NewMessage], counter: TokenCounter) -> list[CountedMessage]:
    """Count the tokens of `messages`. Long ones take their time: hold no lock."""
    return [_count(new, counter) for new in messages]


def append_counted(session_id: int, counted: Sequence[CountedMessage], counter_name: str) -> Appended:
    """Append messages that are counted, in order, for callers that hold the lock. Raises Session.DoesNotExist."""
    with transaction.atomic():
        session = lock_session(session_id)
        known = _known_rows(session_id, counted)
        fresh = _without_repeats(counted, known)
        rows = _insert(session, fresh, counter_name)
        known |= {row.foreign_id: row.pk for row in rows if row.foreign_id is not None}
        unnamed = iter([row.pk for row in rows if row.foreign_id is None])
        row_ids = tuple(next(unnamed) if one.client_id is None else known[one.client_id] for one in counted)
    return Appended(row_ids, len(rows), len(counted) - len(rows), session.last_seq)


def _count(new: NewMessage, counter: TokenCounter) -> CountedMessage:
    client_id = None if new.client_id is None else storable_id(new.client_id)
    return CountedMessage(new, client_id, row_tokens(new.message, counter), reasoning_tokens(new.message, counter))


def _known_rows(session_id: int, counted: Sequence[CountedMessage]) -> dict[str, int]:
    client_ids = [one.client_id for one in counted if one.client_id is not None]
    if not client_ids:
        return {}
    found = MessageRow.objects.filter(session_id=session_id, foreign_id__in=client_ids)
    return {str(foreign_id): pk for foreign_id, pk in found.values_list("foreign_id", "id")}


def _without_repeats(counted: Sequence[CountedMessage], known: dict[str, int]) -> list[CountedMessage]:
    seen = set(known)
    fresh = []
    for one in counted:
        if one.client_id is None or one.client_id not in seen:
            fresh.append(one)
        if one.client_id is not None:
            seen.add(one.client_id)
    return fresh


def _insert(session: Session, fresh: Sequence[CountedMessage], counter_name: str) -> list[MessageRow]:
    if not fresh:
        return []
    now = clock.now()
    tracker = tracker_of(session)
    counters = Counters(session)
    rows: list[MessageRow] = []
    events: list[SessionEvent] = []
    for one in fresh:
        position, at = session.next_position, one.new.at or now
        session.next_position += 1
        counters.born(RowKind.MESSAGE, one.new.message.role, min(one.tokens, MAX_INT4))
        events.append(next_event(session, EventKind.APPENDED, at=at, first_position=position, last_position=position))
        turn = tracker.place(one.new.message, one.new.by_person, position, at)
        rows.append(_row(session, one, position, turn, at, counter_name))
        touch(session, at)
    MessageRow.objects.bulk_create(rows)
    index_rows(session.project_id, rows)
    SessionEvent.objects.bulk_create(events)
    save_turns(session.pk, tracker.take())
    if tracker.number > session.turns_total:
        end_abandoned_turns(session.pk, tracker.number)
    session.turns_total = tracker.number
    session.status = SessionStatus.LIVE
    save_locked(session, "status")
    tell(session, EventKind.APPENDED, tuple(row.pk for row in rows))
    return rows


def _row(
    session: Session, one: CountedMessage, position: int, turn: int | None, at: datetime, counter_name: str
) -> MessageRow:
    new = one.new
    row = new_message_row(
        session.pk,
        new.message,
        position=position,
        born_seq=session.last_seq,
        tokens=one.tokens,
        token_counter=counter_name,
        reasoning_tokens=one.reasoning_tokens,
        by_person=new.by_person or new.message.role is not Role.USER,
    )
    row.foreign_id = one.client_id
    row.at = at
    row.turn = turn
    row.model = storable_or_none(new.model)
    row.raw = storable_text(new.raw)
    row.input_tokens = storable_count(new.input_tokens)
    row.output_tokens = storable_count(new.output_tokens)
    row.cache_read_tokens = storable_count(new.cache_read_tokens)
    row.cache_write_tokens = storable_count(new.cache_write_tokens)
    return row
