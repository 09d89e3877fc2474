"""The words of rows, written in the transaction that stores the rows, and those of rows that have none yet.

By COPY, like the rows of an import. A row's words are written once: what a row holds never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection, transaction

from compaction.messages import RowKind
from sessions_app.models import MessageRow, Session
from sessions_app.queries.moments import as_of_sql
from sessions_app.search.vector import SUMMARY, project_lexeme, row_texts, session_lexeme, vector_of

BATCH_ROWS: Final = 500
_COPY: Final = "COPY sessions_app_rowwords (row_id, session_id, position, words) FROM STDIN"
_COLUMNS: Final = (
    *("id", "session_id", "position", "kind", "content", "parts", "tool_calls", "reasoning", "name", "tool_call_id"),
)


def index_rows(project_id: int, rows: Sequence[MessageRow]) -> None:
    """Write the words of rows of one project that have their ids."""
    _copy((row.pk, row, project_id) for row in rows)


def index_copied_rows(session: Session, rows: Sequence[MessageRow]) -> None:
    """Write the words of rows of one session that were copied in, so that their ids are not known here."""
    stored = MessageRow.objects.filter(session_id=session.pk, position__in=[row.position for row in rows])
    ids = dict(stored.order_by("id").values_list("position", "id"))
    _copy((ids[row.position], row, session.project_id) for row in rows)


@dataclass(frozen=True, slots=True)
class IndexedBatch:
    """So many rows have words now, and the last of them."""

    rows: int
    last_id: int


def index_missing_rows(after_id: int = 0) -> Iterator[IndexedBatch]:
    """Write the words of all rows that have none, a batch and a transaction at a time.

    Whatever is interrupted goes on where it was, or at the first row without words. Rows that a pass is just taking
    out are passed over and met by another walk, until one finds none.
    """
    has_found = True
    while has_found:
        has_found = False
        for batch in _walk(after_id):
            has_found = True
            yield batch
        after_id = 0


def _walk(after_id: int) -> Iterator[IndexedBatch]:
    """Write the words of the rows behind `after_id` that have none and that nobody holds."""
    while True:
        with transaction.atomic():
            rows = list(_rows_without_words(after_id))
            _copy((row.pk, row, row.session.project_id) for row in rows)
        if not rows:
            return
        after_id = rows[-1].pk
        yield IndexedBatch(len(rows), after_id)


def copy_words(parent: Session, branch: Session, seq: int) -> None:
    """Write the words of a branch's rows, which its parent's rows at event `seq` have already. One statement."""
    statement = (
        "INSERT INTO sessions_app_rowwords (row_id, session_id, position, words) "
        "SELECT mine.id, mine.session_id, mine.position, ts_delete(known.words, %(parent_name)s) || %(name)s::tsvector "
        f"FROM ({as_of_sql(('id', 'position'))}) AS seen "
        "JOIN sessions_app_messagerow AS mine ON mine.session_id = %(branch)s AND mine.position = seen.position "
        "JOIN sessions_app_rowwords AS known ON known.row_id = seen.id"
    )
    names = {"parent_name": session_lexeme(parent.pk), "name": f"'{session_lexeme(branch.pk)}'"}
    with connection.cursor() as cursor:
        cursor.execute(statement, {"branch": branch.pk, "session": parent.pk, "seq": seq, **names})


def _rows_without_words(after_id: int) -> Iterable[MessageRow]:
    rows = MessageRow.objects.filter(id__gt=after_id, words__isnull=True).select_related("session")
    # Locked against their deletion; rows of somebody who is deleting them are not waited for.
    locked = rows.select_for_update(of=("self",), skip_locked=True, no_key=True)
    return locked.only(*_COLUMNS, "session__project_id").order_by("id")[:BATCH_ROWS]


def _copy(found: Iterable[tuple[int, MessageRow, int]]) -> None:
    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        for row_id, row, project_id in found:
            copy.write_row((row_id, row.session_id, row.position, row_vector(row, project_id)))


def row_vector(row: MessageRow, project_id: int) -> str:
    """The vector of a row as text."""
    names = [session_lexeme(row.session_id), project_lexeme(project_id)]
    if RowKind(row.kind).is_summary:
        names.append(SUMMARY)
    texts = row_texts(row.content, row.parts, row.tool_calls, row.reasoning, row.name, row.tool_call_id)
    return vector_of(texts, names)
