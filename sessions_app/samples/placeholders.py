"""Facts of the checkout inside a story's text: `{{line compaction/zones.py tail_start}}` and the like.

So a sentence that names a line or a function stays true when the file moves on. The facts:

    name PATH SYMBOL     the symbol's name as it is today      line PATH SYMBOL   its line
    lines PATH           how many lines the file has           hits FOLDER REGEX  how many lines match
    first FOLDER REGEX   path:line of the first that does
    now PATH SYMBOL      the first line in it that a slip could break    slip PATH SYMBOL   that line with the slip
    nowline PATH SYMBOL  its number

Slips are found in the files as they are on disk, whatever a session has done to its working copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from sessions_app.samples.checkout import Checkout, SourceFile, Symbol

_PLACEHOLDER: Final = re.compile(r"\{\{(\w+) ([^}]+)\}\}")
# One believable slip per pattern, in order of how much a reviewer would enjoy finding it.
_SLIPS: Final = (
    (" <= ", " < "), (" >= ", " > "), (" < ", " <= "), (" > ", " >= "), (" is not None", " is None"),
    (" + 1", ""), (" - 1", ""), ("if not ", "if "), (" is None", " is not None"), (" and ", " or "), ("min(", "max("),
    (" == ", " != "),
)  # fmt: skip
_NO_CODE: Final = re.compile(r'^\s*(#|"""|def |class |async def |@|import |from |$)')


class UnknownFact(ValueError):
    """A story asks for a fact that has no meaning."""


@dataclass(frozen=True, slots=True)
class Slip:
    """A line of code (1-based), and the same line with one small mistake in it."""

    path: str
    line: int
    right: str
    wrong: str


def find_slip(checkout: Checkout, path: str, name: str) -> Slip:
    """The first line from the symbol on that one small mistake could break; the file's first line if there is none."""
    file = checkout.original(path)
    start = (file.symbol(name) or Symbol(name, 1, 0)).line
    code = [(number, line) for number, line in code_lines(file) if start < number <= start + 24]
    for old, new in _SLIPS:
        for number, line in code:
            if old in line:
                return Slip(file.path, number, line, line.replace(old, new, 1))
    return Slip(file.path, 1, file.lines[0], file.lines[0].rstrip(".") + ".")


def code_lines(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Numbered lines that are statements: no definitions, comments, texts or docstrings."""
    in_text = False
    for number, line in enumerate(file.lines, 1):
        quotes = line.count('"""')
        if not in_text and not quotes and '"' not in line and not _NO_CODE.match(line):
            yield number, line
        in_text ^= quotes % 2 == 1


def resolve(checkout: Checkout, text: str) -> str:
    """`text` with its placeholders filled in. Raises UnknownFact."""
    return _PLACEHOLDER.sub(lambda match: fact(checkout, match[1], match[2].strip()), text)


def fact(checkout: Checkout, kind: str, words: str) -> str:
    if kind not in FACTS:
        raise UnknownFact(f"{{{{{kind} {words}}}}}: known are {', '.join(FACTS)}")
    place, _, rest = words.partition(" ")
    return FACTS[kind](checkout, place, rest.strip())


def first_hit(checkout: Checkout, folder: str, pattern: str) -> str:
    hits = checkout.search(pattern, folder)
    if not hits:
        checkout.missing.add(f"{folder} {pattern}")
        return f"{folder}:1"
    return f"{hits[0].path}:{hits[0].line}"


FACTS: Final[dict[str, Callable[[Checkout, str, str], str]]] = {
    "name": lambda checkout, path, name: checkout.symbol(path, name).name,
    "line": lambda checkout, path, name: str(checkout.symbol(path, name).line),
    "lines": lambda checkout, path, _: str(len(checkout.file(path).lines)),
    "hits": lambda checkout, folder, pattern: str(len(checkout.search(pattern, folder))),
    "first": first_hit,
    "now": lambda checkout, path, name: find_slip(checkout, path, name).right.strip(),
    "slip": lambda checkout, path, name: find_slip(checkout, path, name).wrong.strip(),
    "nowline": lambda checkout, path, name: str(find_slip(checkout, path, name).line),
}
