"""The live context of a session at one moment, with the number of that moment, read in one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from compaction.messages import Row
from sessions_app.mapping import ROW_COLUMNS, RowColumns, row_from_columns
from sessions_app.models import Session
from sessions_app.queries.moments import rows_as_of

# Plain columns: making a model of each of a hundred thousand rows would take twice as long as all the rest.
_NOW_SQL: Final = f"""
SELECT (SELECT last_seq FROM sessions_app_session WHERE id = %(session)s), {", ".join(ROW_COLUMNS)}
FROM sessions_app_messagerow WHERE session_id = %(session)s AND died_seq IS NULL ORDER BY position, id
"""


@dataclass(frozen=True, slots=True)
class LiveContext:
    """The live rows right after event `seq`, in order."""

    seq: int
    rows: tuple[Row, ...]


def context_now(session: Session) -> LiveContext:
    """The live rows and the newest event, seen at the same moment although passes may commit meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(_NOW_SQL, {"session": session.pk})
        stored: list[tuple[Any, ...]] = cursor.fetchall()
    seq: int = stored[0][0] if stored else session.last_seq
    return LiveContext(seq, tuple(row_from_columns(RowColumns(*columns)) for _, *columns in stored))


def context_as_of(session: Session, seq: int) -> LiveContext:
    """The rows that were live right after event `seq`."""
    return LiveContext(seq, rows_as_of(session.pk, seq))
