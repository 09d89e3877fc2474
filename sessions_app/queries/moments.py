"""What the model saw at an event: the one question the way rows are stored exists for."""

from __future__ import annotations

from typing import Final

from django.db import connection
from django.db.models import QuerySet

from compaction.messages import Row, RowKind
from sessions_app.mapping import ROW_COLUMNS, RowColumns, row_from_columns
from sessions_app.models import MessageRow, Session

SUMMARY_KINDS: Final = tuple(kind.value for kind in RowKind if kind.is_summary)
# Rows that live in their present interval, and rows that lived in one that an undo ended. `=` on the session and a
# bound on the event in both halves, so that either is read by an index.
AS_OF_SQL: Final = """
SELECT {columns} FROM sessions_app_messagerow AS r
WHERE r.session_id = %(session)s AND r.born_seq <= %(seq)s AND (r.died_seq IS NULL OR r.died_seq > %(seq)s)
UNION ALL
SELECT {columns} FROM sessions_app_rowlifetime AS l
JOIN sessions_app_messagerow AS r ON r.session_id = l.session_id AND r.id = l.row_id
WHERE l.session_id = %(session)s AND l.born_seq <= %(seq)s AND l.died_seq > %(seq)s
ORDER BY position, id
"""


def as_of_sql(columns: tuple[str, ...] = ROW_COLUMNS) -> str:
    """The query, with parameters `session` and `seq`."""
    return AS_OF_SQL.format(columns=", ".join(f"r.{column}" for column in columns))


def rows_as_of(session_id: int, seq: int) -> tuple[Row, ...]:
    """The live rows right after event `seq`, in order. Before the first event there are none."""
    with connection.cursor() as cursor:
        cursor.execute(as_of_sql(), {"session": session_id, "seq": seq})
        return tuple(row_from_columns(RowColumns(*columns)) for columns in cursor.fetchall())


def row_ids_as_of(session_id: int, seq: int) -> tuple[int, ...]:
    """Ids of the live rows right after event `seq`, in order."""
    found = MessageRow.objects.raw(as_of_sql(("id", "position")), {"session": session_id, "seq": seq})
    return tuple(row.pk for row in found)


def live_summaries(session: Session) -> QuerySet[MessageRow]:
    """The live summary rows of a session, in order; there are few."""
    return live_rows(session.pk).filter(kind__in=SUMMARY_KINDS) if session.summary_rows else MessageRow.objects.none()


def live_rows(session_id: int) -> QuerySet[MessageRow]:
    """The live rows of a session, in order."""
    return MessageRow.objects.filter(session_id=session_id, died_seq__isnull=True).order_by("position", "id")
