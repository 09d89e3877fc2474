"""Edits: what a pass does to the rows of a session, as a value.

An edit names rows that leave the live context and carries the rows that enter it. It never changes a row. The same
edit is applied in memory (`apply_edit`, used by the simulated replay and the laws) and by the store; both must agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.messages import Message, Row, RowKind


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row a pass inserts. `replaces` is the original of a prune stub, None for summaries."""

    kind: RowKind
    position: int
    message: Message
    tokens: int
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Row ids that die (absorbed or pruned rows, and superseded summaries apart) and rows that are born."""

    archived: tuple[int, ...] = ()
    superseded: tuple[int, ...] = ()
    inserted: tuple[NewRow, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether applying this edit changes nothing."""
        return not (self.archived or self.superseded or self.inserted)

    @property
    def removed(self) -> frozenset[int]:
        """Ids of all rows that leave the live context."""
        return frozenset(self.archived) | frozenset(self.superseded)


def apply_edit(rows: Sequence[Row], edit: Edit, first_id: int) -> tuple[Row, ...]:
    """The live rows after `edit`, in order. New rows get ids from `first_id` on.

    Raises ValueError when the edit names a row that is not in `rows`: such an edit was planned on another state.
    """
    missing = edit.removed - {row.id for row in rows}
    if missing:
        raise ValueError(f"the edit names rows that are not live: {sorted(missing)}")
    born = (row_from_new(new, first_id + index) for index, new in enumerate(edit.inserted))
    kept = (row for row in rows if row.id not in edit.removed)
    return tuple(sorted([*kept, *born], key=lambda row: row.key))


def row_from_new(new: NewRow, row_id: int) -> Row:
    """The live row that an inserted row becomes once it has an id."""
    return Row(row_id, new.position, new.message, new.tokens, new.kind, by_person=False)
