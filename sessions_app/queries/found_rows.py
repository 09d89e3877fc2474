"""Rows found by their words: which sessions have some, the first ones of a session, and the places of all.

Access is not decided here: a search is narrowed to projects by the caller, and whoever shows what was found asks for
sessions the reader may see. Everything is answered by the index of words; rows are read only where they are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import BigIntegerField, BooleanField, F, Func, Q, QuerySet, Value
from django.db.models.expressions import RawSQL

from compaction.messages import RowKey
from sessions_app.models import Session
from sessions_app.search.query import SearchQuery
from sessions_app.search.vector import SUMMARY, project_lexeme, session_lexeme

# With more hits than these, sessions are asked one by one, in the order of the list, until a page of them is full.
MOST_GATHERED: Final = 100_000
# And no more hits than these are looked up to say how many are archived.
MOST_COUNTED: Final = 20_000
# Over more projects than these a search isn't narrowed in the index, only by the sessions it may show.
MOST_NAMED_PROJECTS: Final = 60


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row that was found."""

    session_id: int
    row_id: int
    position: int


@dataclass(frozen=True, slots=True)
class SessionHits:
    """The first hits of one session, messages before summaries, and how many there are."""

    rows: tuple[FoundRow, ...]
    total: int


@dataclass(frozen=True, slots=True)
class HitPlace:
    """Where one hit stands among all hits of its session. number counts from 1; 0 in front of the first.

    key: the wanted place or, where that is no hit, None; previous, following: the hits around it.
    """

    total: int
    number: int
    key: RowKey | None
    previous: RowKey | None
    following: RowKey | None
    first: RowKey | None
    last: RowKey | None


@dataclass(frozen=True, slots=True)
class SessionsWithHits:
    """The condition for sessions that have hits. can_be_counted: they are few enough."""

    condition: Q
    can_be_counted: bool


def sessions_with_hits(query: SearchQuery, project_ids: Sequence[int]) -> SessionsWithHits:
    """Which sessions have a row that `query` finds. Reads the hits, when they are not too many."""
    gathered, hits = _gathered(query.expression(*_names(project_ids)))
    if hits <= MOST_GATHERED:
        return SessionsWithHits(Q(_is_any_of(gathered)), hits <= MOST_COUNTED)
    # So many hits are soon met in almost any session. The function instead of its operator keeps the index of words out
    # of it, which would be asked for all hits again in each session.
    asked = Func(
        F("id"),
        Value(query.expression()),
        template="EXISTS (SELECT 1 FROM sessions_app_rowwords AS w WHERE w.session_id = %(expressions)s::tsquery))",
        arg_joiner=" AND ts_match_vq(w.words, ",
        output_field=BooleanField(),
    )
    return SessionsWithHits(Q(asked), False)


def _is_any_of(ids: list[int]) -> Func:
    """One of these ids, given as one value: there may be tens of thousands."""
    listed = Value(ids, output_field=ArrayField(BigIntegerField()))
    return Func(F("id"), listed, template="(%(expressions)s))", arg_joiner=" = ANY(", output_field=BooleanField())


def _gathered(expression: str) -> tuple[list[int], int]:
    """Ids of the sessions that have hits, and the number of hits; past `MOST_GATHERED` + 1 they are not read."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT session_id, count(*) FROM (SELECT session_id FROM sessions_app_rowwords "
            "WHERE words @@ %s::tsquery LIMIT %s) AS hits GROUP BY session_id",
            [expression, MOST_GATHERED + 1],
        )
        found = cursor.fetchall()
    return [one for one, _ in found], sum(hits for _, hits in found)


@dataclass(frozen=True, slots=True)
class FoundTotals:
    """All hits: rows, those of them that are archived, and the sessions they are in."""

    rows: int
    archived: int
    sessions: int


# Each hit is looked up by its key: a join would rather read the whole table of rows, which it takes for cheaper.
_COUNT: Final = """
SELECT count(*), count(r.died_seq), count(DISTINCT hits.session_id) FROM (
    SELECT row_id, session_id FROM sessions_app_rowwords WHERE words @@ %s::tsquery LIMIT %s
) AS hits
CROSS JOIN LATERAL (SELECT died_seq FROM sessions_app_messagerow WHERE id = hits.row_id OFFSET 0) AS r
WHERE hits.session_id IN ({sessions})
"""


def count_found(query: SearchQuery, sessions: QuerySet[Session], project_ids: Sequence[int]) -> FoundTotals | None:
    """Totals over all hits in `sessions`; None when there are none. One query."""
    found, parameters = sessions.order_by().values("id").query.sql_with_params()
    with connection.cursor() as cursor:
        asked = [query.expression(*_names(project_ids)), MOST_COUNTED, *parameters]
        cursor.execute(_COUNT.format(sessions=found), asked)
        rows, archived, in_sessions = cursor.fetchone()
    return FoundTotals(rows, archived, in_sessions) if rows else None


def _names(project_ids: Sequence[int]) -> list[str]:
    return [project_lexeme(one) for one in project_ids] if len(project_ids) <= MOST_NAMED_PROJECTS else []


_FIRST_HITS: Final = """
SELECT session_id, row_id, position, total FROM (
    SELECT session_id, row_id, position, count(*) OVER (PARTITION BY session_id) AS total,
        row_number() OVER (PARTITION BY session_id ORDER BY is_summary, position, row_id) AS number
    FROM (
        SELECT session_id, row_id, position, words @@ %(summary)s::tsquery AS is_summary
        FROM sessions_app_rowwords WHERE words @@ %(expression)s::tsquery
    ) AS hits
) AS numbered WHERE number <= %(shown)s ORDER BY session_id, number
"""


def first_hits(query: SearchQuery, session_ids: Sequence[int], shown: int) -> dict[int, SessionHits]:
    """The first `shown` hits of each of these sessions, in one query."""
    if not session_ids:
        return {}
    names = map(session_lexeme, session_ids)
    with connection.cursor() as cursor:
        asked: dict[str, Any] = {"expression": query.expression(*names), "shown": shown, "summary": f"'{SUMMARY}'"}
        cursor.execute(_FIRST_HITS, asked)
        found = cursor.fetchall()
    hits: dict[int, SessionHits] = {}
    for session_id, row_id, position, total in found:
        rows = hits[session_id].rows if session_id in hits else ()
        hits[session_id] = SessionHits((*rows, FoundRow(session_id, row_id, position)), total)
    return hits


_PLACE: Final = """
WITH hits AS MATERIALIZED (
    SELECT position, row_id FROM sessions_app_rowwords WHERE words @@ %(messages)s::tsquery
    UNION ALL
    SELECT position, row_id FROM sessions_app_rowwords
    WHERE row_id = ANY(%(summaries)s::bigint[]) AND words @@ %(any)s::tsquery
)
SELECT count(*), count(*) FILTER (WHERE (position, row_id) <= (%(position)s, %(row_id)s)),
    max(CASE WHEN position = %(position)s AND row_id <= %(row_id)s THEN row_id END),
    (SELECT ARRAY[position, row_id] FROM hits WHERE position < %(position)s
        ORDER BY position DESC, row_id DESC LIMIT 1),
    (SELECT ARRAY[position, row_id] FROM hits WHERE position > %(position)s ORDER BY position, row_id LIMIT 1),
    (SELECT ARRAY[position, row_id] FROM hits ORDER BY position, row_id LIMIT 1),
    (SELECT ARRAY[position, row_id] FROM hits ORDER BY position DESC, row_id DESC LIMIT 1)
FROM hits
"""


def hit_at(query: SearchQuery, session_id: int, live_summary_ids: Sequence[int], position: int | None) -> HitPlace:
    """Where the hit at `position` stands among all hits of a session: its messages, and its live summaries.

    Versions of a summary that are superseded are left out: they say again what the rows say.
    """
    name = session_lexeme(session_id)
    asked: dict[str, Any] = {
        "messages": f"{query.expression(name)} & !'{SUMMARY}'",
        "any": query.expression(),
        "summaries": list(live_summary_ids),
        "position": -1 if position is None else position,
        "row_id": 2**62,
    }
    with connection.cursor() as cursor:
        cursor.execute(_PLACE, asked)
        total, number, row_id, *around = cursor.fetchone()
    previous, following, first, last = (None if key is None else RowKey(*key) for key in around)
    here = RowKey(position, row_id) if position is not None and row_id is not None else None
    return HitPlace(total, number, here, previous, following, first, last)


def rows_with(query: SearchQuery, session_id: int) -> Q:
    """The condition for rows of a session that `query` finds."""
    found = RawSQL(
        "sessions_app_messagerow.id IN (SELECT row_id FROM sessions_app_rowwords WHERE words @@ %s::tsquery)",
        [query.expression(session_lexeme(session_id))],
        output_field=BooleanField(),
    )
    return Q(found)
