"""The transcript's line of items: live rows, groups of archived rows, passes, summary cards and gaps, in order.

Archived rows are never listed here one by one: neighbours that one pass archived make one group, counted in the
database. A summary stands where its pass left it: behind the rows it replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sessions_app.models import CompactionPass, SummaryRevision
from sessions_app.pages.row_source import SourceRow
from sessions_app.pages.row_view import RowView

Key = tuple[int, int]
# An id that no row will ever have, as long as an address takes one.
BEHIND_ALL_IDS = 10**18 - 1


class ZoneName(StrEnum):
    """Where an item lies in the model's view; NONE while zones can't be told."""

    HEAD = "head"
    MIDDLE = "middle"
    TAIL = "tail"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class RowItem:
    """A row that stands in the line by itself. is_next: the next pass will absorb it."""

    view: RowView
    zone: ZoneName
    is_next: bool = False
    opens_next: bool = False
    closes_next: bool = False

    kind = "row"

    @property
    def next_classes(self) -> str:
        """How the row is marked on the page when the next pass will absorb it."""
        if not self.is_next:
            return ""
        return " up-next" + " up-next-first" * self.opens_next + " up-next-last" * self.closes_next

    @property
    def key(self) -> Key:
        return self.view.row.key

    @property
    def end_key(self) -> Key:
        """Behind it and the results folded into it, whose ids are not looked up for this."""
        last = self.view.last_position
        return (last, self.view.row.id) if last == self.view.row.position else (last, BEHIND_ALL_IDS)


@dataclass(frozen=True, slots=True)
class GroupItem:
    """Neighbouring rows archived by one pass, or rewound without one. rows is None while they are not loaded;
    rest: where more of an opened group lies, None when all of it is loaded.
    """

    made_by: CompactionPass | None
    first: Key
    last: Key
    count: int
    tokens: int
    zone: ZoneName
    rows: tuple[RowView, ...] | None = None
    superseded: tuple[SummaryRevision, ...] = ()
    rest: tuple[Key, Key] | None = None
    earlier: tuple[Key, Key] | None = None

    kind = "group"

    @property
    def key(self) -> Key:
        return self.first


@dataclass(frozen=True, slots=True)
class PassItem:
    """A pass that archived no row by itself: a defrag, a failure, a pass whose rows were never seen."""

    made_by: CompactionPass
    key: Key
    zone: ZoneName

    kind = "pass"


@dataclass(frozen=True, slots=True)
class SummaryItem:
    """A live summary row, never a chat turn. revision is None when the source kept no version of it."""

    row: SourceRow
    revision: SummaryRevision | None
    made_by: CompactionPass | None
    archived_rows: int | None
    zone: ZoneName
    key: Key

    kind = "summary"

    @property
    def is_behind_rows(self) -> bool:
        """Whether it stands behind the rows it was made of, and not at its own place."""
        return self.key[1] == BEHIND_ALL_IDS


@dataclass(frozen=True, slots=True)
class GapItem:
    """Rows that are not loaded, between two loaded ones or at an end."""

    after: Key | None
    before: Key | None
    first_position: int
    last_position: int
    rows: int
    tokens: int

    kind = "gap"


@dataclass(frozen=True, slots=True)
class ZoneItem:
    """The label where a zone begins."""

    zone: ZoneName
    rows: int
    tokens: int
    budget_tokens: int | None
    archived_rows: int
    passes: int
    user_rows: int

    kind = "zone"


# What has a place of its own among the rows.
StandingItem = RowItem | GroupItem | PassItem | SummaryItem
Item = StandingItem | GapItem | ZoneItem
