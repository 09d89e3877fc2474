"""The rail of pass marks under a curve: neighbours are pushed apart, and a leader keeps the true place.

Numbers are thinned so that they stay readable: one set for wide pages, a smaller one for narrow pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

MARK_GAP_PCT = 0.9
# A shift smaller than a mark itself needs no leader.
LEADER_FROM_PCT = 0.4
WIDE_LABEL_GAP_PCT = 1.8
NARROW_LABEL_GAP_PCT = 7.0


@dataclass(frozen=True, slots=True)
class Mark:
    """One pass on the rail. place_pct: where it happened; shown_pct: where its mark stands."""

    number: int
    icon: str
    words: str
    href: str
    place_pct: float
    shown_pct: float
    is_failed: bool = False
    is_current: bool = False
    has_label: bool = True
    has_narrow_label: bool = True

    @property
    def is_moved(self) -> bool:
        """Whether a leader must say where the pass happened."""
        return abs(self.place_pct - self.shown_pct) > LEADER_FROM_PCT


def lay_out(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """The marks in order, none closer to its neighbour than the gap, as long as there is room for all of them."""
    return thin_labels(push_apart(marks))


def push_apart(marks: Sequence[Mark]) -> list[Mark]:
    gap = min(MARK_GAP_PCT, 100 / max(len(marks) - 1, 1))
    shown: list[float] = []
    for mark in marks:
        shown.append(max(mark.place_pct, shown[-1] + gap) if shown else mark.place_pct)
    limit = 100.0
    for index in range(len(shown) - 1, -1, -1):
        shown[index] = min(shown[index], limit)
        limit = shown[index] - gap
    return [replace(mark, shown_pct=round(max(place, 0.0), 2)) for mark, place in zip(marks, shown, strict=True)]


def thin_labels(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """The current mark always has its number; the others keep away from it and from each other."""
    wide = labelled(marks, WIDE_LABEL_GAP_PCT)
    narrow = labelled(marks, NARROW_LABEL_GAP_PCT)
    return tuple(
        replace(mark, has_label=index in wide, has_narrow_label=index in narrow) for index, mark in enumerate(marks)
    )


def labelled(marks: Sequence[Mark], gap_pct: float) -> frozenset[int]:
    taken = [(index, mark.shown_pct) for index, mark in enumerate(marks) if mark.is_current]
    for index, mark in enumerate(marks):
        if all(abs(mark.shown_pct - place) >= gap_pct for _, place in taken):
            taken.append((index, mark.shown_pct))
    return frozenset(index for index, _ in taken)
