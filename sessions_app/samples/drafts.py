"""Drafts of tool calls: everything about a call and its answer except how long the answer is.

An answer is made of pieces. Fixed pieces are always whole; of an elastic piece the first so many lines are shown, and
`fitting` decides how many. What depends on that number (a limit among the arguments, a total below) is computed last.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines of an answer. Of an elastic piece at least `least` lines are shown, if there are so many.

    lead: lines that stand before `lines` and are shown only when there is room for all of `lines`, nearest first.
    """

    lines: tuple[str, ...]
    is_elastic: bool = False
    least: int = 0
    lead: tuple[str, ...] = ()

    @property
    def candidates(self) -> tuple[str, ...]:
        """All lines in the order in which they come into view."""
        return (*self.lines, *reversed(self.lead))

    def shown(self, count: int) -> tuple[str, ...]:
        """`count` lines of an elastic piece in the order of the text, all lines of a fixed one."""
        if not self.is_elastic:
            return self.lines
        led = max(0, count - len(self.lines))
        return (*self.lead[len(self.lead) - led :], *self.lines[:count])


@dataclass(frozen=True, slots=True)
class DraftCall:
    """A call to be. `arguments` and `closing` take the number of elastic lines shown in all pieces together.

    arguments: its JSON text. closing: the answer's last lines, may be empty. seconds: how long the tool took.
    """

    name: str
    arguments: Callable[[int], str]
    pieces: tuple[Piece, ...]
    closing: Callable[[int], str]
    seconds: float

    def answer(self, counts: Sequence[int]) -> str:
        """The result's text, with `counts` lines shown of each piece."""
        shown = sum(count for piece, count in zip(self.pieces, counts, strict=True) if piece.is_elastic)
        lines = [line for piece, count in zip(self.pieces, counts, strict=True) for line in numbered(piece, count)]
        text = "\n".join(lines).replace("{count}", str(shown))
        closing = self.closing(shown)
        return f"{text}\n{closing}" if text and closing else text or closing


def numbered(piece: Piece, count: int) -> Iterator[str]:
    """The piece's lines with their share of the way in place of `{pct}`."""
    lines = piece.shown(count)
    for index, line in enumerate(lines, 1):
        yield line.replace("{pct}", f"{index * 100 // len(lines):3}")


def fixed(text: str) -> Piece:
    """A piece that is always shown whole."""
    return Piece(tuple(text.split("\n")))


def as_json(value: Any) -> str:
    """JSON as the tools of an agent write it: readable, not escaped."""
    return json.dumps(value, ensure_ascii=False)
