"""The vector a row is indexed by: its words with their places, and names for its session and its project.

What is indexed is what the row holds: its text, its reasoning, and the names, ids and arguments of its tool calls.
Pictures are not. The index stays small in the face of anything: of a row that holds more than `MOST_WORDS` words, its
beginning and its end are indexed, where outputs say what they are and how they ended.

The names of session and project are lexemes like the words, so the index itself narrows a search to what the reader may
see, or to one session, before a single row is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from sessions_app.search.words import Word, words_of

# Places in a vector end at 16,383; rows are cut well before.
FIRST_WORDS: Final = 12_000
LAST_WORDS: Final = 4_000
MOST_WORDS: Final = FIRST_WORDS + LAST_WORDS
# No more characters than these are even looked at, so that a row of megabytes costs what one of kilobytes does.
FIRST_CHARS: Final = 48_000
LAST_CHARS: Final = 16_000
SUMMARY: Final = "@summary"


def session_lexeme(session_id: int) -> str:
    """What every row of a session is indexed by. No word begins with this sign."""
    return f"@s{session_id}"


def project_lexeme(project_id: int) -> str:
    """What every row of a project is indexed by."""
    return f"@p{project_id}"


def vector_of(texts: Iterable[str], names: Iterable[str]) -> str:
    """The literal of a tsvector for a row with these texts, in order. names: lexemes without a place."""
    places: dict[str, list[int]] = {}
    place = 0
    for word in placed_words(texts):
        place += 1
        if word is None:
            continue
        for form in word.forms:
            places.setdefault(form, []).append(place)
    words = (f"{form}:{','.join(map(str, found))}" for form, found in places.items())
    return " ".join([*(f"'{name}'" for name in names), *words])


def placed_words(texts: Iterable[str]) -> Iterator[Word | None]:
    """The words to index, None between two texts and where something is left out: no phrase reaches over it."""
    words, chars = FIRST_WORDS, FIRST_CHARS
    for text in texts:
        found = list(words_of(text[:chars]))
        yield from found[:words]
        yield None
        if len(found) > words or len(text) > chars:
            rest = found[words].start if len(found) > words else chars
            yield from list(words_of(text[max(rest, len(text) - LAST_CHARS) :]))[-LAST_WORDS:]
            return
        words, chars = max(words - len(found) - 1, 0), chars - len(text)


def row_texts(
    content: str | None,
    parts: Iterable[dict[str, Any]] | None,
    calls: Iterable[dict[str, Any]] | None,
    reasoning: str | None,
    name: str | None,
    tool_call_id: str | None,
) -> Iterator[str]:
    """The texts of a stored row, from its columns: first what is short, so that a long text costs only itself."""
    listed = list(calls or ())
    yield from (text for call in listed for text in (call.get("name"), call.get("id")) if text)
    yield from (text for text in (name, tool_call_id, content, *part_texts(parts), reasoning) if text)
    yield from (call["arguments"] for call in listed if call.get("arguments"))


def part_texts(parts: Iterable[dict[str, Any]] | None) -> Iterator[str]:
    """The texts of list content; pictures and parts of other kinds have none."""
    return (part["text"] for part in parts or () if part.get("part") == "text" and part.get("text"))
