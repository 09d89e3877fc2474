"""What a search of the session list finds: sessions by title or id, and the first hits among the rows of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q
from django.utils.translation import gettext

from sessions_app.pages.found_rows import HitRow, read_hit_rows
from sessions_app.queries.found_rows import first_hits
from sessions_app.search.query import SearchQuery
from sessions_app.search.words import words_of

SHOWN_HITS: Final = 2


@dataclass(frozen=True, slots=True)
class SessionLineHits:
    """Hits in one session: the first of them, and how many more there are."""

    rows: tuple[HitRow, ...]
    others: int


def titled(query: SearchQuery) -> Q:
    """The condition for sessions whose title or one of whose ids holds the query as it was typed, or whose title has
    words that begin with each wanted term, in any order, and none that begins with an excluded one."""
    words = Q()
    for term in query.wanted:
        words &= Q(title__iregex=_beginning(term.text))
    for term in query.excluded:
        words &= ~Q(title__iregex=_beginning(term.text))
    return words | titled_as(query)


def titled_as(query: SearchQuery) -> Q:
    """The condition for sessions whose title or one of whose ids holds the query as it was typed."""
    text = query.text
    return Q(title__icontains=text) | Q(public_id__icontains=text) | Q(foreign_id__icontains=text)


def _beginning(text: str) -> str:
    """A pattern of the database for `text` where a word begins, or anywhere in scripts without spaces."""
    is_spaced = text[:1].isalnum() and not any(word.is_pair for word in words_of(text[:1]))
    return ("\\m" if is_spaced else "") + re.escape(text)


def read_session_hits(query: SearchQuery, session_ids: Sequence[int]) -> dict[int, SessionLineHits]:
    """The first hits of each of these sessions, by session, in a fixed number of queries."""
    found = first_hits(query, session_ids, SHOWN_HITS)
    shown = read_hit_rows((row.row_id for hits in found.values() for row in hits.rows), query)
    return {
        session_id: SessionLineHits(
            rows=tuple(shown[row.row_id] for row in hits.rows if row.row_id in shown),
            others=hits.total - len(hits.rows),
        )
        for session_id, hits in found.items()
    }


def too_long_note() -> str:
    """What to say when the database ended a search."""
    return gettext(
        "The search of the rows took too long and was stopped. Shown are the sessions whose title or id matches. "
        "A rarer word, or a project, makes it fast."
    )
