"""Code with its parts marked, by classes alone: the style sheet says what they look like, in light and in dark.

Two locks, as for Markdown: the highlighter escapes what it marks, and what comes out is cleaned down to spans. Only a
language that is named is marked; guessing costs more than it tells. Diffs and JSON are known by how they begin.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import nh3
from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

# Longer code is printed as it is: marking takes a millisecond for every few hundred characters.
MOST_CHARS: Final = 6_000
MOST_NAME_CHARS: Final = 30
_DIFF: Final = re.compile(r"^(?:diff --git |--- \S.*\n\+\+\+ \S|Index: |@@ -\d)", re.MULTILINE)
_FORMATTER: Final = HtmlFormatter(nowrap=True, classprefix="h-")


@lru_cache(maxsize=2_000)
def highlighted(code: str, language: str) -> SafeString | None:
    """`code` with marks; None when the language is not known or there is too much of it."""
    lexer = lexer_of(language)
    if lexer is None or len(code) > MOST_CHARS:
        return None
    html = highlight(code, lexer, _FORMATTER)
    return mark_safe(nh3.clean(html, tags={"span"}, attributes={"span": {"class"}}))


def highlighted_output(text: str) -> SafeString | None:
    """What a tool printed, when it is a diff or JSON; else None."""
    if len(text) > MOST_CHARS:
        return None
    if _DIFF.search(text[:400]):
        return highlighted(text, "diff")
    return highlighted(text, "json") if text.lstrip()[:1] in ("{", "[") and text.rstrip()[-1:] in ("}", "]") else None


@lru_cache(maxsize=200)
def lexer_of(language: str) -> Lexer | None:
    """The reader of a language, by any name it goes by."""
    name = language.strip().split(maxsplit=1)[0].lower() if language.strip() else ""
    if not name or len(name) > MOST_NAME_CHARS:
        return None
    try:
        # Spaces at the ends belong to what was printed.
        return get_lexer_by_name(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
