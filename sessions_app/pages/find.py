"""Finding in one session: which hit the reader is at, the ones around it, and what it says.

Hits are counted over all rows of the session, whatever of it is loaded. Where the reader is stands in the address, so
every step from hit to hit is a link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.urls import reverse
from django.utils.translation import gettext

from compaction.messages import RowKey
from sessions_app.models import Session
from sessions_app.pages.found_rows import HitRow, find_parameters, read_hit_rows
from sessions_app.pages.row_view import SHOWN_CHARS
from sessions_app.queries.bounded import TookTooLong, bounded_reads
from sessions_app.queries.found_rows import HitPlace, hit_at
from sessions_app.queries.moments import live_summaries
from sessions_app.search.query import SearchQuery, read_query

FIND_MS: Final = 3_000
# A whole text is opened so many characters in front of the hit.
BEFORE_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class Mark:
    """What to mark on the page. begins: what begins with it is marked, too."""

    text: str
    begins: bool


@dataclass(frozen=True, slots=True)
class FindBar:
    """The state of a search in a session. number: the hit the reader is at, or the last one before; 0 in front of all.

    first, previous, following: addresses, empty where there is no such hit. hit: the one the reader is at. full_text:
    where it is read when the transcript cuts the row off before it. note: why nothing was looked for.
    """

    words: str
    note: str = ""
    total: int = 0
    number: int = 0
    first: str = ""
    previous: str = ""
    following: str = ""
    hit: HitRow | None = None
    full_text: str = ""
    marks: tuple[Mark, ...] = ()


def read_find(session: Session, words: str, position: int | None) -> FindBar | None:
    """The search for `words` as seen from the row at `position`; None without words. Four queries at most."""
    if not words.strip():
        return None
    query = read_query(words)
    if query.problem:
        return FindBar(words, query.problem_text)
    try:
        with bounded_reads(FIND_MS):
            place = hit_at(query, session.pk, list(live_summaries(session).values_list("id", flat=True)), position)
    except TookTooLong:
        return FindBar(words, gettext("This took too long and was stopped. A rarer word is found faster."))
    return bar_of(session, query, place)


def bar_of(session: Session, query: SearchQuery, place: HitPlace) -> FindBar:
    hit = read_hit_rows([place.key.id], query).get(place.key.id) if place.key is not None else None
    return FindBar(
        words=query.text,
        total=place.total,
        number=place.number,
        first=address_of(query, place.first),
        previous=address_of(query, place.previous),
        following=address_of(query, place.following),
        hit=hit,
        full_text=full_text_address(session, hit),
        marks=tuple(Mark(term.text, term.is_beginning) for term in query.wanted),
    )


def address_of(query: SearchQuery, key: RowKey | None) -> str:
    return "" if key is None else f"?{find_parameters(query.text, key.position)}#r{key.position}"


def full_text_address(session: Session, hit: HitRow | None) -> str:
    if hit is None or hit.text_char is None or hit.text_char < SHOWN_CHARS:
        return ""
    first = hit.text_char - BEFORE_CHARS
    return f"{reverse('row_text', args=[session.public_id, hit.row_id])}?first={first}"
