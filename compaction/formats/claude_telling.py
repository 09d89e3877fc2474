"""What a Claude Code conversation's moves mean for its rows: entered, rewound, archived.

A place that is begun under an earlier one means that the user went back: what came after that one was rewound. Rows of
the conversation as it stands in the end are never rewound on the way, so the live rows after the last step are the
chain from the newest record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compaction.formats.claude_chain import Answered, Ended, Move, Opened, Place, RowPlan, Summarised


@dataclass(frozen=True, slots=True)
class Appended:
    """A row entered at the end of the live context."""

    row: RowPlan


@dataclass(frozen=True, slots=True)
class Rewound:
    """Rows left because the user went back."""

    foreign_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction: who left, and before whom its summary stands (None: at the end)."""

    archived: tuple[str, ...]
    before: str | None
    move: Summarised


Step = Appended | Rewound | Compacted | Ended


def tell_steps(moves: Iterable[Move]) -> list[Step]:
    """The steps that the moves of one thread amount to."""
    telling = _Telling()
    for move in moves:
        telling.take(move)
    return telling.steps


class _Telling:
    """The live places in order, and the steps so far."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._live: list[Place] = []
        self._has_new_rows = False

    def take(self, move: Move) -> None:
        """Take the next move."""
        if isinstance(move, Opened):
            self._go_back_to(move.place.parent)
            self._enter(move.place, move.row)
        elif isinstance(move, Answered):
            self._answer(move.place, move.row)
        elif isinstance(move, Summarised):
            self._compact(move)
        elif self._has_new_rows:
            self.steps.append(move)
            self._has_new_rows = False

    def _enter(self, place: Place, row: RowPlan) -> None:
        if not place.is_live:
            place.is_live = True
            self._live.append(place)
        place.entered.append(row.foreign_id)
        self.steps.append(Appended(row))
        self._has_new_rows = True

    def _answer(self, place: Place, row: RowPlan) -> None:
        if place.is_live:
            self._enter(place, row)
            return
        # The call has left already; its late result stands alone, and leaves too when its branch is a dead one.
        late = Place(None, is_current=place.is_current)
        self._enter(late, row)
        if not place.is_current:
            self._rewind([late])

    def _go_back_to(self, parent: Place | None) -> None:
        anchor = parent
        while anchor is not None and not anchor.is_live:
            anchor = anchor.parent
        if anchor is None and parent is not None:
            return  # the parent was archived: what is live now came after it in any case
        # What a compaction preserved stands behind its summary and stays with it.
        stays = {id(anchor), *(id(place) for place in anchor.preserved)} if anchor else set()
        behind: list[Place] = []
        for place in reversed(self._live):
            if id(place) in stays:
                break
            behind.append(place)
        self._rewind([place for place in reversed(behind) if not place.is_current])

    def _rewind(self, places: Sequence[Place]) -> None:
        if places:
            self.steps.append(Rewound(_rows(places)))
            self._leave(places)

    def _compact(self, move: Summarised) -> None:
        summary = move.place
        if summary.parent is not None and summary.parent.is_live:
            self._go_back_to(summary.parent)
        stays = {id(place) for place in summary.preserved}
        # A compaction on a dead branch takes nothing from the conversation as it stands in the end.
        kept = [place for place in self._live if id(place) in stays or (place.is_current and not summary.is_current)]
        left = [place for place in self._live if place not in kept]
        ahead = self._live.index(left[0]) if left else 0 if summary.is_current else len(self._live)
        behind = _rows(kept[ahead:])
        if left or move.summary:
            self.steps.append(Compacted(_rows(left), next(iter(behind), None), move))
        self._leave(left)
        summary.is_live = True
        summary.entered += [move.summary.foreign_id] if move.summary else []
        self._live = [*kept[:ahead], summary, *kept[ahead:]]

    def _leave(self, places: Sequence[Place]) -> None:
        for place in places:
            place.is_live = False
        self._live = [place for place in self._live if place.is_live]


def _rows(places: Iterable[Place]) -> tuple[str, ...]:
    return tuple(foreign_id for place in places for foreign_id in place.entered)
