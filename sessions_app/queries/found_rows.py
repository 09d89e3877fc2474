"""Rows found by their words: which sessions have some, the first ones of a session, and the places of all.

Access is not decided here: a search is narrowed to projects by the caller, and whoever shows what was found asks for
sessions the reader may see. Everything is answered by the index of words; rows are read only where they are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection
from django.db.models import BooleanField, Count, F, Func, Q, QuerySet, Value
from django.db.models.expressions import RawSQL

from compaction.messages import RowKey
from sessions_app.models import MessageRow, Session
from sessions_app.search.query import SearchQuery
from sessions_app.search.vector import SUMMARY, project_lexeme, session_lexeme

# With more hits than these, sessions are asked one by one, newest first, until a page of them is full.
MOST_GATHERED: Final = 20_000
# Over more projects than these a search isn't narrowed in the index, only by the sessions it may show.
MOST_NAMED_PROJECTS: Final = 60
# Hits of one session are counted up to here in lists.
MOST_COUNTED: Final = 1_000


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row that was found."""

    session_id: int
    row_id: int
    position: int


@dataclass(frozen=True, slots=True)
class SessionHits:
    """The first hits of one session, messages before summaries, and how many there are, up to `MOST_COUNTED` + 1."""

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
    """The condition for sessions that have hits. are_gathered: the hits were read, so they are few enough to count."""

    condition: Q
    are_gathered: bool


def sessions_with_hits(query: SearchQuery, project_ids: Sequence[int]) -> SessionsWithHits:
    """Which sessions have a row that `query` finds. Reads the hits, when they are not too many."""
    gathered = _gathered(query.expression(*_names(project_ids)))
    if gathered is not None:
        return SessionsWithHits(Q(id__in=gathered), True)
    # The name of the session stands in the vector, so this is one look into the index for each session asked.
    asked = Func(
        F("id"),
        Value(query.expression()),
        template="EXISTS (SELECT 1 FROM sessions_app_rowwords AS w "
        "WHERE w.words @@ (quote_literal('@s' || %(expressions)s)::tsquery)",
        arg_joiner="::text) || ' & ' || ",
        output_field=BooleanField(),
    )
    return SessionsWithHits(Q(asked), False)


def _gathered(expression: str) -> list[int] | None:
    """Ids of all sessions with hits; None when there are too many hits to gather."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT session_id, count(*) FROM (SELECT session_id FROM sessions_app_rowwords "
            "WHERE words @@ %s::tsquery LIMIT %s) AS hits GROUP BY session_id",
            [expression, MOST_GATHERED + 1],
        )
        found = cursor.fetchall()
    return [one for one, _ in found] if sum(hits for _, hits in found) <= MOST_GATHERED else None


@dataclass(frozen=True, slots=True)
class FoundTotals:
    """All hits: rows, those of them that are archived, and the sessions they are in."""

    rows: int
    archived: int
    sessions: int


def count_found(query: SearchQuery, sessions: QuerySet[Session], project_ids: Sequence[int]) -> FoundTotals | None:
    """Totals over all hits in `sessions`; None when there are none, or too many to count. One query."""
    some = RawSQL(
        "sessions_app_messagerow.id IN (SELECT row_id FROM sessions_app_rowwords WHERE words @@ %s::tsquery LIMIT %s)",
        [query.expression(*_names(project_ids)), MOST_GATHERED + 1],
        output_field=BooleanField(),
    )
    hits = MessageRow.objects.filter(Q(some), session_id__in=sessions.order_by().values("id"))
    totals = hits.aggregate(
        rows=Count("id"),
        archived=Count("id", filter=Q(died_seq__isnull=False)),
        sessions=Count("session_id", distinct=True),
    )
    return FoundTotals(**totals) if 0 < totals["rows"] <= MOST_GATHERED else None


def _names(project_ids: Sequence[int]) -> list[str]:
    return [project_lexeme(one) for one in project_ids] if len(project_ids) <= MOST_NAMED_PROJECTS else []


_FIRST_HITS: Final = """
SELECT s.id, h.row_id, h.position, h.total FROM unnest(%(ids)s::bigint[]) AS s(id)
CROSS JOIN LATERAL (
    SELECT row_id, position, count(*) OVER () AS total FROM (
        SELECT row_id, position, words @@ %(summary)s::tsquery AS is_summary FROM sessions_app_rowwords
        WHERE words @@ (quote_literal('@s' || s.id) || ' & ' || %(expression)s)::tsquery LIMIT %(counted)s
    ) AS counted ORDER BY is_summary, position, row_id LIMIT %(shown)s
) AS h ORDER BY s.id, h.position, h.row_id
"""


def first_hits(query: SearchQuery, session_ids: Sequence[int], shown: int) -> dict[int, SessionHits]:
    """The first `shown` hits of each of these sessions, in one query."""
    if not session_ids:
        return {}
    asked: dict[str, Any] = {"ids": list(session_ids), "expression": query.expression(), "shown": shown}
    asked |= {"counted": MOST_COUNTED + 1, "summary": f"'{SUMMARY}'"}
    with connection.cursor() as cursor:
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
