"""The search parameter `q` of lists: what it finds, and what is answered when it says nothing or takes too long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db.models import QuerySet

from sessions_app.api.errors import Refusal, bad_parameter
from sessions_app.models import MessageRow, Project, Session
from sessions_app.pages.session_hits import titled
from sessions_app.queries.bounded import TookTooLong, bounded_reads
from sessions_app.queries.found_rows import rows_with, sessions_with_hits
from sessions_app.search.query import SearchQuery, read_query

SEARCH_MS: Final = 5_000


def searched(sessions: QuerySet[Session], project: Project, words: str) -> QuerySet[Session]:
    """The sessions whose title, id or rows hold `words`; all of them without any."""
    if not words:
        return sessions
    query = query_of(words)
    with searching(words):
        return sessions.filter(titled(query) | sessions_with_hits(query, [project.pk]).condition)


def found_rows(rows: QuerySet[MessageRow], session: Session, words: str) -> QuerySet[MessageRow]:
    """The rows of the session that hold `words`; all of them without any."""
    return rows.filter(rows_with(query_of(words), session.pk)) if words else rows


def query_of(words: str) -> SearchQuery:
    """The query, or a refusal that says what is wrong with it."""
    query = read_query(words)
    if query.problem:
        raise bad_parameter("q", query.problem)
    return query


@contextmanager
def searching(words: str) -> Iterator[None]:
    """Reads of a search for `words`, each of them bounded. Raises a refusal when one takes too long."""
    if not words:
        yield
        return
    try:
        with bounded_reads(SEARCH_MS):
            yield
    except TookTooLong:
        raise Refusal(
            503, "search_took_too_long", "The search took too long and was stopped. Look for a rarer word."
        ) from None
