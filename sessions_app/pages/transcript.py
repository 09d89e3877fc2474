"""The transcript page: a window of items around a place, with the rest of the session as gaps that can be loaded.

Opened without a place, a long session shows its beginning and its end. Which rows are loaded is decided by keys; what
a group of archived rows holds is read only when it is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from sessions_app.models import MessageRow, Session
from sessions_app.pages.flow import GapItem, GroupItem, Item, Key, PassItem, RowItem, StandingItem, SummaryItem
from sessions_app.pages.group import read_group
from sessions_app.pages.live_summaries import read_summary_items
from sessions_app.pages.outlook import Outlook
from sessions_app.pages.pass_places import PlacedPass, Window, light_passes, passes_by_id, silent_passes
from sessions_app.pages.row_source import read_rows
from sessions_app.pages.row_view import view_rows
from sessions_app.pages.walk import Stretch, Walk, flow_rows, is_same_group, joined, walk_backward, walk_forward
from sessions_app.queries.pass_places import place_of

HEAD_WINDOW = 32
TAIL_WINDOW = 24
BEFORE_SUMMARY, BEHIND_SUMMARY = 6, 2
AROUND_BEFORE, AROUND_BEHIND = 15, 24
MORE = 80


class RowFilter(StrEnum):
    """Which rows are shown."""

    ALL = "all"
    LIVE = "live"
    ARCHIVED = "archived"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look. position: the row to show; pass_number: a pass whose group is shown open.

    after, before: the gap to fill, from its beginning or, with `from_end`, from its end.
    """

    position: int | None = None
    pass_number: int | None = None
    after: Key | None = None
    before: Key | None = None
    from_end: bool = False
    is_gap: bool = False
    open_all: bool = False


@dataclass(frozen=True, slots=True)
class Transcript:
    """Items of one window, in order."""

    items: tuple[Item, ...]
    has_rows: bool


class TranscriptReader:
    """Reads windows of one session under one filter. Every read is a bounded number of queries."""

    def __init__(self, session: Session, row_filter: RowFilter, outlook: Outlook) -> None:
        self._session = session
        self._outlook = outlook
        self._rows = flow_rows(session, live_only=row_filter is RowFilter.LIVE)
        if row_filter is RowFilter.ARCHIVED:
            self._rows = self._rows.filter(archived_by__isnull=False)
        self._filter = row_filter

    def read(self, place: Place) -> Transcript:
        """The window at `place`."""
        if place.is_gap:
            items = self._fill_gap(place)
        elif place.position is not None or place.pass_number is not None:
            items = self._around(place)
        else:
            items = self._ends(place)
        return Transcript(tuple(items), bool(items))

    def _ends(self, place: Place) -> list[Item]:
        """The beginning and the end unless they meet, and between them the live summary."""
        start = walk_forward(self._rows, None, None, HEAD_WINDOW)
        if not start.has_more:
            return [*self._items(start.stretches, place, None, None)]
        last = start.stretches[-1].last
        end = walk_backward(self._rows, last, None, TAIL_WINDOW)
        if not end.has_more:
            return [*self._items((*start.stretches, *end.stretches), place, None, None)]
        return self._with_gaps(self._parts(start.stretches, end.stretches), place)

    def _parts(self, start: Sequence[Stretch], end: Sequence[Stretch]) -> list[Sequence[Stretch]]:
        """The beginning, the end, and where the newest summary lies between them, the rows around it.

        A summary is what the model knows of all that is archived: whoever opens a session sees it.
        """
        last, first = start[-1].last, end[0].first
        inside = [item.key for item in self._summaries if last < item.key < first]
        if not inside:
            return [start, end]
        before = walk_backward(self._rows, last, inside[-1], BEFORE_SUMMARY)
        behind = walk_forward(
            self._rows, before.stretches[-1].last if before.stretches else last, first, BEHIND_SUMMARY
        )
        # A defrag's summary stands within the group of an earlier pass.
        around = merged((*before.stretches, *behind.stretches))
        match before.has_more, behind.has_more:
            case True, True:
                return [start, around, end]
            case False, True:
                return [(*start, *around), end]
            case True, False:
                return [start, (*around, *end)]
            case _:
                return [(*start, *around, *end)]

    def _with_gaps(self, parts: Sequence[Sequence[Stretch]], place: Place) -> list[Item]:
        """Parts of the session in order, with gaps between them: read at once, and each completed by itself."""
        windows = [
            Window(None if part is parts[0] else part[0].first, None if part is parts[-1] else part[-1].last)
            for part in parts
        ]
        standing = self._standing([stretch for part in parts for stretch in part], place)
        passes = self._silent_passes(*windows)
        items: list[Item] = []
        for before, part, window in zip((None, *parts), parts, windows, strict=False):
            if before is not None:
                items.append(gap(before[-1].last, part[0].first))
            here = [item for item in standing if part[0].first <= item.key <= part[-1].last]
            items += self._completed(here, window, passes)
        return items

    def _around(self, place: Place) -> list[Item]:
        position = place.position or 0
        if place.position is None and place.pass_number is not None:
            position = self._position_of_pass(place.pass_number)
        here: Key = (position, 0)
        before = walk_backward(self._rows, None, here, AROUND_BEFORE)
        start = before.stretches[0].first if before.stretches else None
        behind = before.stretches[-1].last if before.stretches else None
        after = walk_forward(self._rows, behind, None, AROUND_BEHIND)
        stretches = merged((*before.stretches, *after.stretches))
        last = stretches[-1].last if stretches else None
        found = self._items(stretches, place, start if before.has_more else None, last if after.has_more else None)
        items: list[Item] = [*self._with_wanted_summary(found, position)]
        if before.has_more and start is not None:
            items.insert(0, gap(None, start))
        if after.has_more and last is not None:
            items.append(gap(last, None, self._session.next_position - 1))
        return items

    def _position_of_pass(self, number: int) -> int:
        made_by = light_passes(self._session.pk).filter(number=number).first()
        if made_by is None:
            return 0
        first = self._rows.filter(archived_by_id=made_by.pk).order_by("position", "id").values_list("position").first()
        return int(first[0]) if first is not None else place_of(made_by)[0]

    def _fill_gap(self, place: Place) -> list[Item]:
        if place.from_end:
            found = walk_backward(self._rows, place.after, place.before, MORE)
        else:
            found = walk_forward(self._rows, place.after, place.before, MORE)
        return self._with_rest(found, place)

    def _with_rest(self, found: Walk, place: Place) -> list[Item]:
        if not found.stretches:
            return []
        first, last = found.stretches[0].first, found.stretches[-1].last
        if place.from_end:
            items = self._items(found.stretches, place, first if found.has_more else place.after, place.before)
            return [gap(place.after, first), *items] if found.has_more else [*items]
        items = self._items(found.stretches, place, place.after, last if found.has_more else place.before)
        rest = [gap(last, place.before, self._session.next_position - 1)] if found.has_more else []
        return [*items, *rest]

    def _items(
        self, stretches: Sequence[Stretch], place: Place, lower: Key | None, upper: Key | None
    ) -> list[StandingItem]:
        """The items for stretches, with summaries and passes that belong between them.

        lower, upper: keys of the window's edges, None where the session itself begins or ends.
        """
        window = Window(lower, upper)
        return self._completed(self._standing(stretches, place), window, self._silent_passes(window))

    def _standing(self, stretches: Sequence[Stretch], place: Place) -> list[StandingItem]:
        """The rows and groups of stretches, in order."""
        items: list[StandingItem] = [*self._row_items(stretches), *self._group_items(stretches, place)]
        items.sort(key=lambda item: item.key)
        return items

    def _completed(self, items: list[StandingItem], window: Window, passes: Sequence[PlacedPass]) -> list[StandingItem]:
        """Rows and groups of one window with the summaries and those of `passes` that belong between them."""
        items = self._with_summaries(items, window)
        return self._with_passes(items, [one for one in passes if window.holds(one.key)])

    def _row_items(self, stretches: Sequence[Stretch]) -> list[RowItem]:
        ids = [stretch.first[1] for stretch in stretches if stretch.is_live]
        rows = MessageRow.objects.filter(session_id=self._session.pk, id__in=ids).order_by("position", "id")
        span = self._outlook.next_span
        items: list[RowItem] = []
        for view in view_rows(read_rows(rows)):
            is_next = span is not None and span[0] <= view.row.key <= span[1]
            last = (view.last_position, 0)
            items.append(
                RowItem(
                    view=view,
                    zone=self._outlook.zone_of(view.row.key),
                    is_next=is_next,
                    opens_next=is_next and span is not None and view.row.key == tuple(span[0]),
                    closes_next=is_next and span is not None and last[0] >= span[1][0],
                )
            )
        return items

    def _group_items(self, stretches: Sequence[Stretch], place: Place) -> list[GroupItem]:
        passes = passes_by_id(self._session.pk, (stretch.pass_id for stretch in stretches))
        items: list[GroupItem] = []
        for stretch in stretches:
            if stretch.is_live:
                continue
            made_by = passes.get(stretch.pass_id) if stretch.pass_id is not None else None
            item = GroupItem(
                made_by,
                stretch.first,
                stretch.last,
                stretch.count,
                stretch.tokens,
                self._outlook.zone_of(stretch.first),
            )
            items.append(self._opened(item, place) if self._is_open(item, place) else item)
        return items

    def _is_open(self, item: GroupItem, place: Place) -> bool:
        if place.open_all or self._filter is RowFilter.ARCHIVED:
            return True
        if holds(item, place.position):
            return True
        return place.pass_number is not None and item.made_by is not None and item.made_by.number == place.pass_number

    def _opened(self, item: GroupItem, place: Place) -> GroupItem:
        pass_id = item.made_by.pk if item.made_by else None
        position = place.position if holds(item, place.position) else None
        group = read_group(self._session, pass_id, item.first, item.last, position)
        return replace(item, rows=group.rows, superseded=group.superseded, rest=group.rest, earlier=group.earlier)

    def _with_summaries(self, items: list[StandingItem], window: Window) -> list[StandingItem]:
        """The items with the cards of the live summaries that stand in the window."""
        for item in self._summaries:
            if window.holds(item.key):
                index = next((i for i, one in enumerate(items) if one.key > item.key), len(items))
                items.insert(index, item)
        return items

    def _with_wanted_summary(self, items: list[StandingItem], position: int) -> list[StandingItem]:
        """A live summary at the row that was gone to is in sight, even where its card stands far behind."""
        for item in self._summaries:
            if item.row.position != position or item in items:
                continue
            made_by = item.row.made_by_id
            groups = [i for i, one in enumerate(items) if isinstance(one, GroupItem) and is_by(one, made_by)]
            if groups:
                items.insert(groups[-1] + 1, item)
        return items

    @cached_property
    def _summaries(self) -> list[SummaryItem]:
        """The cards of the session's live summaries; among archived rows alone there are none."""
        if self._filter is RowFilter.ARCHIVED:
            return []
        return read_summary_items(self._session, self._outlook)

    def _silent_passes(self, *windows: Window) -> list[PlacedPass]:
        """Passes that archived no row; they are shown where all rows are."""
        return silent_passes(self._session, windows) if self._filter is RowFilter.ALL else []

    def _with_passes(self, items: list[StandingItem], passes: Sequence[PlacedPass]) -> list[StandingItem]:
        """Passes that archived no row stand where they looked."""
        for placed in passes:
            index = next(
                (i for i, one in enumerate(items) if one.key >= placed.key and not isinstance(one, PassItem)),
                len(items),
            )
            items.insert(index, PassItem(placed.made_by, placed.key, self._outlook.zone_of(placed.key)))
        return items


def merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Stretches with a group joined that the starting place had cut in two."""
    result: list[Stretch] = []
    for stretch in stretches:
        if result and is_same_group(result[-1], stretch):
            result[-1] = joined(result[-1], stretch)
        else:
            result.append(stretch)
    return result


def gap(after: Key | None, before: Key | None, last_position: int | None = None) -> GapItem:
    first = 0 if after is None else after[0] + 1
    last = before[0] - 1 if before is not None else (last_position or first)
    return GapItem(after, before, first, max(first, last), max(last - first + 1, 1), 0)


def holds(item: GroupItem, position: int | None) -> bool:
    return position is not None and item.first[0] <= position <= item.last[0]


def is_by(item: GroupItem, pass_id: int | None) -> bool:
    return item.made_by is not None and item.made_by.pk == pass_id
