"""Where in a text a query is met, and the piece of it to show with the words marked.

Must agree with the index: the text is cut into words by the same code, so a mark stands on what was found and nowhere
else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sessions_app.search.query import Term
from sessions_app.search.words import Word, words_of

BEFORE_CHARS: Final = 70
SNIPPET_CHARS: Final = 240
# Around each likely place this much is cut into words; beyond so many places the text is taken from its start.
WINDOW_CHARS: Final = 600
MOST_PLACES: Final = 40
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a snippet."""

    text: str
    is_marked: bool


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text around what was found. first_char: where in the text the first mark lies."""

    pieces: tuple[Piece, ...]
    first_char: int
    starts_inside: bool
    ends_inside: bool


def snippet_of(texts: Iterable[str], terms: Sequence[Term]) -> Snippet | None:
    """The snippet for the first of `texts` in which one of `terms` is met; None when none is."""
    for text in texts:
        if (place := first_place(text, terms)) is not None:
            return _cut(text, place, terms)
    return None


def first_place(text: str, terms: Sequence[Term]) -> int | None:
    """The first character at which one of `terms` is met, the first of them first."""
    for term in terms:
        for begin in _likely_places(text, term):
            start = _word_boundary(text, max(begin - 80, 0))
            found = spans_of(list(words_of(text[start : begin + WINDOW_CHARS])), term)
            if span := next(found, None):
                return start + span[0]
    for term in terms:
        if span := next(spans_of(list(words_of(text[: 40 * WINDOW_CHARS])), term), None):
            return span[0]
    return None


def _likely_places(text: str, term: Term) -> Iterator[int]:
    likely = re.compile(re.escape(term.words[0]), re.IGNORECASE)
    for count, found in enumerate(likely.finditer(text)):
        if count == MOST_PLACES:
            return
        yield found.start()


def _word_boundary(text: str, place: int) -> int:
    """The next place from here on at which no word is cut."""
    while 0 < place < len(text) and (text[place - 1].isalnum() and text[place].isalnum()):
        place += 1
    return place


def spans_of(words: Sequence[Word], term: Term) -> Iterator[tuple[int, int]]:
    """Where in a text that has these words the term is met, from character to character."""
    length = len(term.words)
    for index in range(len(words) - length + 1):
        found = words[index : index + length]
        if _meets(found, term):
            yield found[0].start, found[-1].end


def _meets(words: Sequence[Word], term: Term) -> bool:
    *before, last = term.words
    if any(asked not in word.forms for asked, word in zip(before, words, strict=False)):
        return False
    forms = words[-1].forms
    return any(form.startswith(last) for form in forms) if term.is_beginning else last in forms


def _cut(text: str, place: int, terms: Sequence[Term]) -> Snippet:
    start = _word_boundary(text, max(place - BEFORE_CHARS, 0))
    start = min(start, place)
    end = min(start + SNIPPET_CHARS, len(text))
    shown = text[start:end]
    words = list(words_of(shown))
    marks = _joined(sorted(span for term in terms for span in spans_of(words, term)))
    return Snippet(tuple(_pieces(shown, marks)), place, start > 0, end < len(text))


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that touch made one."""
    joined: list[tuple[int, int]] = []
    for begin, end in spans:
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def _pieces(text: str, marks: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    place = 0
    for begin, end in marks:
        if begin > place:
            yield Piece(_SPACES.sub(" ", text[place:begin]), False)
        yield Piece(_SPACES.sub(" ", text[begin:end]), True)
        place = end
    if place < len(text):
        yield Piece(_SPACES.sub(" ", text[place:]), False)
