"""The lines of an edit, before and after, set beside each other.

Both sides are cut into bands: what stays the same stands at the same height on both, and what left stands opposite to
what came in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class EditLine:
    """One row on one side. sign: "−" leaves, "+" enters, empty stays. row_id is None for a row of a simulation."""

    sign: str
    label: str
    position: int
    row_id: int | None
    role: str
    text: str
    is_code: bool
    tokens: int | None
    is_user: bool


@dataclass(frozen=True, slots=True)
class Fold:
    """Rows that are not listed one by one: unchanged ones at the ends, or the middle of very many removed ones."""

    rows: int | None
    first_position: int | None
    last_position: int | None
    is_removed: bool
    is_end: bool


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of both sides. superseded: the label of a summary that left here, with nothing in its place."""

    is_same: bool
    before: tuple[EditLine | Fold, ...]
    after: tuple[EditLine | Fold, ...]

    @property
    def archived_rows(self) -> int:
        """Rows that left here and are no summaries."""
        return sum(archived_by(line) for line in self.before if not self.is_same)

    @property
    def superseded(self) -> str:
        gone = [one.label for one in self.before if isinstance(one, EditLine) and one.sign and one.role == SUMMARY]
        return gone[0] if gone and not self.after and not self.archived_rows else ""


def set_beside(before: Sequence[EditLine | Fold], after: Sequence[EditLine | Fold]) -> tuple[Band, ...]:
    """Both sides in bands, in order; together the bands are the two sides again."""
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple(
        Band(step == "equal", tuple(before[first:last]), tuple(after[start:end]))
        for step, first, last, start, end in steps
    )


def archived_by(line: EditLine | Fold) -> int:
    if isinstance(line, Fold):
        return (line.rows or 0) if line.is_removed else 0
    return int(bool(line.sign) and line.role != SUMMARY)
