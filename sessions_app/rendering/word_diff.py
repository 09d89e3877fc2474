"""What changed between two versions of a text, word by word, in lines that a page can print.

Lines are compared first and words only inside lines that differ, so a long summary costs little. Chinese, Japanese and
Korean are compared by character: they have no spaces to split at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import chain

CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
WORD = re.compile(rf"\n|[{CJK}][^\S\n]*|[^\s{CJK}]+[^\S\n]*|[^\S\n]+")
CODE = re.compile(r"`([^`\n]+)`")
# With more words than this on both sides together, changed lines are shown whole: comparing them would take seconds.
WORDS_COMPARED = 6_000


class Change(StrEnum):
    """What happened to a piece of text."""

    KEPT = "kept"
    REMOVED = "removed"
    INSERTED = "inserted"


class LineKind(StrEnum):
    """How a line is set."""

    HEADING = "heading"
    ITEM = "item"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text with one fate; `is_code` when it stood between backticks."""

    change: Change
    text: str
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of the newer text with what was removed in it."""

    kind: LineKind
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """One line as it was and as it is; None where the other side has a line of its own."""

    before: DiffLine | None
    after: DiffLine | None

    @property
    def is_same(self) -> bool:
        """Whether nothing changed in the line."""
        return self.before == self.after


@dataclass(frozen=True, slots=True)
class WordDiff:
    """Lines to print and the sums: words inserted and removed, and the share of the old words kept word for word."""

    lines: tuple[DiffLine, ...]
    words_inserted: int
    words_removed: int
    kept_pct: float | None


def compare_words(before: str, after: str) -> WordDiff:
    """The diff from `before` to `after`."""
    runs = tuple(merge_runs(changes(before, after)))
    counts = {change: sum(count_words(text) for kind, text in runs if kind is change) for change in Change}
    words_before = counts[Change.KEPT] + counts[Change.REMOVED]
    return WordDiff(
        lines=tuple(set_line(pieces) for pieces in split_lines(runs) if pieces),
        words_inserted=counts[Change.INSERTED],
        words_removed=counts[Change.REMOVED],
        kept_pct=round(100 * counts[Change.KEPT] / words_before, 1) if words_before else None,
    )


def set_text(text: str) -> tuple[DiffLine, ...]:
    """The lines of one text, set as the diff sets them, with nothing changed."""
    return compare_words(text, text).lines


def side_by_side(lines: Sequence[DiffLine]) -> tuple[SideBySide, ...]:
    """The lines of a diff in two columns, each line beside what became of it."""
    return tuple(SideBySide(without(line, Change.INSERTED), without(line, Change.REMOVED)) for line in lines)


def without(line: DiffLine, change: Change) -> DiffLine | None:
    """The line without its pieces of one fate; None when nothing is left."""
    pieces = tuple(piece for piece in line.pieces if piece.change is not change)
    return DiffLine(line.kind, pieces) if any(piece.text.strip() for piece in pieces) else None


def count_words(text: str) -> int:
    return sum(1 for word in WORD.findall(text) if not word.isspace() and any(map(str.isalnum, word)))


def changes(before: str, after: str) -> Iterator[tuple[Change, str]]:
    """Pieces in order. Where lines differ their words are compared, unless there are too many of them."""
    old_lines, new_lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for operation, first, last, start, end in SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes():
        old, new = "".join(old_lines[first:last]), "".join(new_lines[start:end])
        if operation == "replace":
            yield from changed_words(WORD.findall(old), WORD.findall(new))
        elif operation == "equal":
            yield Change.KEPT, old
        else:
            yield from whole(old, new)


def whole(old: str, new: str) -> Iterator[tuple[Change, str]]:
    if old:
        yield Change.REMOVED, old
    if new:
        yield Change.INSERTED, new


def changed_words(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Change, str]]:
    if len(old) + len(new) > WORDS_COMPARED:
        yield from whole("".join(old), "".join(new))
        return
    for operation, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation == "equal":
            yield Change.KEPT, "".join(old[first:last])
        else:
            yield from whole("".join(old[first:last]), "".join(new[start:end]))


def merge_runs(pieces: Iterable[tuple[Change, str]]) -> Iterator[tuple[Change, str]]:
    """Neighbours with the same fate become one."""
    held: tuple[Change, str] | None = None
    for change, text in pieces:
        if held and held[0] is change:
            held = change, held[1] + text
            continue
        if held:
            yield held
        held = change, text
    if held:
        yield held


def split_lines(runs: Iterable[tuple[Change, str]]) -> Iterator[tuple[Piece, ...]]:
    """Pieces line by line; empty lines yield nothing."""
    line: list[Piece] = []
    for change, text in runs:
        for number, part in enumerate(text.split("\n")):
            if number:
                yield tuple(line)
                line = []
            if part.strip():
                line.extend(code_pieces(change, part))
    yield tuple(line)


def code_pieces(change: Change, text: str) -> Iterator[Piece]:
    """Text between backticks apart from the rest. Backticks that a change cuts through stay as they are."""
    parts = CODE.split(text)
    for number, part in enumerate(parts):
        if part:
            yield Piece(change, part, is_code=bool(number % 2))


def set_line(pieces: tuple[Piece, ...]) -> DiffLine:
    """The line's kind by its first sign; the sign itself is left to the page."""
    start = "".join(chain.from_iterable(piece.text for piece in pieces[:1])).lstrip()
    if start.startswith("#"):
        return DiffLine(LineKind.HEADING, pieces)
    for sign in ("- ", "* ", "• "):
        if start.startswith(sign):
            first = Piece(pieces[0].change, start.removeprefix(sign), pieces[0].is_code)
            return DiffLine(LineKind.ITEM, (first, *pieces[1:]) if first.text else pieces[1:])
    return DiffLine(LineKind.TEXT, pieces)
