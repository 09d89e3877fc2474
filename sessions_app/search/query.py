"""What people type into a search field, understood.

Words are all wanted, in any order. A word of three letters or more also finds words that begin with it; in quotes only
itself. `"several words"` stand together in this order, and so do the parts of whatever is pasted without spaces: a
path, an id, an error code. `-word` and `-"several words"` must not be there. `wo*` finds what begins with `wo`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext, gettext_noop

from sessions_app.search.words import words_of

MOST_TERMS: Final = 20
LEAST_CHARS_OF_BEGINNING: Final = 3
_TERM = re.compile(r"""(?P<minus>(?<!\S)-(?=["“”\w]))?(?:["“”](?P<phrase>[^"“”]*)["“”]?|(?P<word>[^\s"“”]+))""")
# The beginning of a word, with perhaps some sign behind it.
_IS_OPEN = re.compile(r"\w\*\W*$")

NOTHING_TO_FIND = gettext_noop("There is nothing to look for: a search needs a letter or a digit.")
ONLY_EXCLUDED = gettext_noop(
    "Everything here is excluded: a word with - in front of it is left out. "
    "Give a word to look for, or put it in quotes."
)


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand together in this order. is_beginning: of the last one, only the beginning is given.

    text: as it was typed, without the signs that say how to look for it.
    """

    text: str
    words: tuple[str, ...]
    is_beginning: bool
    is_excluded: bool

    @property
    def expression(self) -> str:
        """The term in the language of tsquery. Words hold letters and digits alone, so quotes are enough."""
        *before, last = self.words
        asked = [*(f"'{word}'" for word in before), f"'{last}'{':*' if self.is_beginning else ''}"]
        phrase = " <-> ".join(asked)
        return f"!({phrase})" if self.is_excluded else f"({phrase})"


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query. problem: why nothing can be looked for, as a text to translate; empty when it can."""

    text: str
    terms: tuple[Term, ...]
    problem: str = ""

    @property
    def wanted(self) -> tuple[Term, ...]:
        """The terms that must be there."""
        return tuple(term for term in self.terms if not term.is_excluded)

    @property
    def excluded(self) -> tuple[Term, ...]:
        """The terms that must not be there."""
        return tuple(term for term in self.terms if term.is_excluded)

    @property
    def problem_text(self) -> str:
        """The problem in the reader's language."""
        return gettext(self.problem) if self.problem else ""

    def expression(self, *names: str) -> str:
        """The query in the language of tsquery, narrowed to rows that have one of the `names`."""
        scope = " | ".join(f"'{name}'" for name in names)
        return " & ".join([*([f"({scope})"] if scope else []), *(term.expression for term in self.terms)])


def read_query(text: str) -> SearchQuery:
    """The query that `text` says. Anything can be typed; what holds no letter and no digit says nothing."""
    terms = [term for found in _TERM.finditer(text) if (term := _term_of(found)) is not None][:MOST_TERMS]
    if not terms:
        return SearchQuery(text, (), NOTHING_TO_FIND)
    if all(term.is_excluded for term in terms):
        return SearchQuery(text, tuple(terms), ONLY_EXCLUDED)
    return SearchQuery(text, tuple(terms))


def _term_of(found: re.Match[str]) -> Term | None:
    is_quoted = found["phrase"] is not None
    text = found["phrase"] if is_quoted else found["word"]
    words = list(words_of(text))
    # The last character of a run of pairs is said by the pair before it.
    if len(words) > 1 and words[-1].is_pair and words[-2].is_pair and len(words[-1].forms[0]) == 1:
        words.pop()
    if not words:
        return None
    last = words[-1]
    if last.is_pair:
        is_beginning = len(last.forms[0]) == 1
    else:
        is_long = len(last.forms[0]) >= LEAST_CHARS_OF_BEGINNING
        is_beginning = _IS_OPEN.search(text) is not None or (is_long and not is_quoted)
    typed = text if is_quoted else text.rstrip("*")
    return Term(typed.strip(), tuple(word.forms[0] for word in words), is_beginning, found["minus"] is not None)
