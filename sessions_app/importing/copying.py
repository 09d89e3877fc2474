"""Rows and events into their tables by COPY: the fastest way in, and the same columns the models name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.db import connection

from sessions_app.mapping import json_text
from sessions_app.models import MessageRow, SessionEvent

_JSON_COLUMNS: Final = frozenset({"parts", "tool_calls"})


def _columns(model: type[MessageRow] | type[SessionEvent]) -> tuple[str, ...]:
    """All columns but the key, which the database gives out."""
    return tuple(field.attname for field in model._meta.concrete_fields if not field.primary_key)


_ROW_COLUMNS: Final = _columns(MessageRow)
_EVENT_COLUMNS: Final = _columns(SessionEvent)


def copy_rows(rows: Sequence[MessageRow]) -> None:
    """Insert unsaved rows, with the ids that were reserved for them, or else with ids that rise in the order given."""
    has_ids = bool(rows) and rows[0].pk is not None
    _copy(MessageRow._meta.db_table, ("id", *_ROW_COLUMNS) if has_ids else _ROW_COLUMNS, rows)


def copy_events(events: Sequence[SessionEvent]) -> None:
    """Insert unsaved events."""
    _copy(SessionEvent._meta.db_table, _EVENT_COLUMNS, events)


def _copy(table: str, columns: tuple[str, ...], records: Iterable[MessageRow | SessionEvent]) -> None:
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for record in records:
            copy.write_row([_column(record, column) for column in columns])


def _column(record: MessageRow | SessionEvent, column: str) -> Any:
    value = getattr(record, column)
    return json_text(value) if column in _JSON_COLUMNS else value
