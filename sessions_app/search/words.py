"""A text cut into words, as the index holds them and as queries name them.

A word is a run of letters and digits: a path, an id or an error code is several words in a row, which a query looks for
in the same order. Case, width, accents and invisible characters don't count. A name written in camel case is one word
that is known by its parts, too. Scripts that are written without spaces have no words to cut at: there each pair of
neighbouring characters is one, so that any two characters find their text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

MOST_CHARS_OF_WORD: Final = 64
# Longer names are no names: digests, keys and encoded data would fill the index with pieces nobody looks for.
MOST_CHARS_OF_NAME: Final = 40
LEAST_CHARS_OF_PART: Final = 3

# Combining accents and characters without a width belong to the word they stand in.
_SILENT = "\u00ad\u0300-\u036f\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
# Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_RUN = re.compile(f"(?:[^\\W_]|[{_SILENT}])+")
_PIECE = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_STARTS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_SILENT_CHARACTERS = re.compile(f"[{_SILENT}]")
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+")


class Word(NamedTuple):
    """One word. forms: what it is known by, the whole of it first; start, end: where it stands in the text.

    is_pair: two neighbouring characters of a script without spaces, or the last one of such a run.
    """

    forms: tuple[str, ...]
    start: int
    end: int
    is_pair: bool = False


def words_of(text: str) -> Iterator[Word]:
    """The words of `text`, in order."""
    for run in _RUN.finditer(text):
        start, found = run.start(), run.group()
        if found.isascii():
            yield Word(forms_of(found), start, run.end())
            continue
        for piece in _PIECE.finditer(found):
            if _STARTS_UNSPACED.match(piece.group()):
                yield from _pairs(piece.group(), start + piece.start())
            elif forms := forms_of(piece.group()):
                yield Word(forms, start + piece.start(), start + piece.end())


def forms_of(word: str) -> tuple[str, ...]:
    """The folded word, then the parts of a name in camel case; nothing for a word that is all silence."""
    folded = folded_text(word)[:MOST_CHARS_OF_WORD]
    if not folded:
        return ()
    if folded == word or len(word) > MOST_CHARS_OF_NAME or not (word.isascii() and word.isalpha()) or word.istitle():
        return (folded,)
    parts = [part.lower() for part in _NAME_PART.findall(word) if len(part) >= LEAST_CHARS_OF_PART]
    return (folded, *(part for part in dict.fromkeys(parts) if part != folded))


def folded_text(text: str) -> str:
    """Letters and digits of `text` without case, width and accents."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text).casefold()
    plain = unicodedata.normalize("NFKC", _SILENT_CHARACTERS.sub("", apart))
    return "".join(character for character in plain if character.isalnum())


def _pairs(run: str, start: int) -> Iterator[Word]:
    folded = unicodedata.normalize("NFKC", run)
    is_aligned = len(folded) == len(run)
    for index in range(len(folded)):
        begin = start + index if is_aligned else start
        end = min(begin + 2, start + len(run)) if is_aligned else start + len(run)
        yield Word((folded[index : index + 2],), begin, end, True)
