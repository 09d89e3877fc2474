"""Putting the records of a Claude Code conversation at their places in the chain of parents.

Records are taken in the order of the file, in which they were appended. Each is put under its parent; the newest place
and its ancestors are the conversation as it stands. A round is one answer of the model with the results of its calls:
the lines of one answer, and the results of parallel calls, hang under different lines of it but are one place. Where
records say nothing of parents, the order of lines is the chain. `claude_telling` says what follows from the moves.

A compaction begins a new place, its summary. Records that it preserved stay live, and what is later put under one of
them goes on after the compaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from compaction.formats.claude_records import Boundary, Link, Record, RecordKind
from compaction.formats.claude_scan import Scan
from compaction.formats.events import ProblemKind
from compaction.formats.row_identity import RowIds
from compaction.formats.told_once import Tell
from compaction.wording import worded


@dataclass(slots=True, eq=False)
class RowPlan:
    """A row to be read: from which records, and which part of them (None: what is said; else the n-th result)."""

    foreign_id: str
    records: list[Record]
    result: int | None = None
    has_usage: bool = True


@dataclass(slots=True, eq=False)
class Place:
    """A place in the chain.

    rows: all rows it ever gets, a round's results included. is_current: it is the tip or an ancestor of it. The last
    two belong to the telling: whether the place is live, and which of its rows have entered.
    """

    parent: Place | None
    message_id: str = ""
    call_ids: set[str] = field(default_factory=set)
    rows: list[RowPlan] = field(default_factory=list)
    preserved: list[Place] = field(default_factory=list)
    is_current: bool = False
    is_live: bool = False
    entered: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Opened:
    """A place was begun with its first row."""

    place: Place
    row: RowPlan


@dataclass(slots=True, eq=False)
class Answered:
    """A further row entered a place: the result of a call."""

    place: Place
    row: RowPlan


@dataclass(slots=True, eq=False)
class Summarised:
    """A compaction was recorded. `place` is its summary; the row is None when the file doesn't hold it."""

    place: Place
    record: Record
    summary: RowPlan | None
    boundary: Boundary | None


@dataclass(frozen=True, slots=True)
class Ended:
    """A turn ended."""

    interrupted: bool
    at: float | None


Move = Opened | Answered | Summarised | Ended


def follow(found: Scan, thread: str, tell: Tell) -> list[Move]:
    """The moves of one thread of a file, in order, with the current places marked."""
    records = [record for record in found.records if record.thread == thread]
    chain = _Chain(records, found, tell)
    for record in records:
        chain.take(record)
    place = chain.tip
    while place is not None and not place.is_current:
        place.is_current = True
        place = place.parent
    return chain.moves


class _Chain:
    """The places so far. `tip` is where the newest record stands."""

    def __init__(self, records: Sequence[Record | Link], found: Scan, tell: Tell) -> None:
        self.moves: list[Move] = []
        self.tip: Place | None = None
        self._found = found
        self._tell = tell
        self._ids = RowIds()
        self._places: dict[str, Place | None] = {}
        self._goes_on_at: dict[int, Place] = {}
        self._compactions: dict[str, Summarised] = {}
        self._answers: set[str] = set()
        self._taken: set[int] = set()
        self._by_uuid = {record.uuid: record for record in records if isinstance(record, Record) and record.uuid}
        self._has_links = any(record.parent for record in records if isinstance(record, Record))

    def take(self, record: Record | Link) -> None:
        """Put one record at its place."""
        if isinstance(record, Link):
            self._places.setdefault(record.uuid, self._parent(record, is_quiet=True))
        elif record.number not in self._taken:
            self._take(record, self._parent(record))

    def _take(self, record: Record, parent: Place | None) -> None:
        self._taken.add(record.number)
        if record.kind is RecordKind.TURN_END:
            self._places.setdefault(record.uuid, parent)
            self.moves.append(Ended(False, record.at))
        elif record.kind is RecordKind.BOUNDARY:
            self._take_boundary(record)
        elif record.kind is RecordKind.SUMMARY:
            self._take_summary(record, parent)
        elif record.kind is RecordKind.ASSISTANT and self._continues(record, parent):
            assert parent is not None
            parent.rows[0].records.append(record)
            parent.call_ids.update(record.shape.call_ids)
            self._places[record.uuid] = parent
        else:
            self._take_rows(record, parent)

    def _parent(self, record: Record | Link, is_quiet: bool = False) -> Place | None:
        """The place under which a record stands; None for a beginning."""
        if record.parent is None:
            begins = self._has_links and (isinstance(record, Link) or record.has_parent)
            return None if begins else self.tip
        if record.parent not in self._places:
            if not is_quiet and record.parent not in self._found.uuids:
                detail = worded(
                    "the parent {!r} is not in the file; the record before is taken for it", record.parent[:60]
                )
                self._tell.at(record.number if isinstance(record, Record) else None).note(
                    ProblemKind.ORPHAN_PARENT, detail
                )
            return self.tip
        place = self._places[record.parent]
        while place is not None and id(place) in self._goes_on_at:
            place = self._goes_on_at[id(place)]
        return place

    def _continues(self, record: Record, parent: Place | None) -> bool:
        """Whether the record is a further line of the answer that stands at `parent`."""
        message_id = record.shape.message_id
        return parent is not None and bool(message_id) and parent.message_id == message_id

    def _take_rows(self, record: Record, parent: Place | None) -> None:
        """A record with rows of its own: results of calls, and what is said besides."""
        base = record.uuid or f"line-{record.number}"
        place = parent
        for number, call_id in enumerate(record.shape.result_ids):
            row = RowPlan(self._ids.give(base), [record], result=number)
            round_ = next((known for known in (place, self.tip) if known and call_id in known.call_ids), None)
            if round_ is not None:
                round_.rows.append(row)
                self.moves.append(Answered(round_, row))
                place = round_
            else:
                place = self._open(place, row)
        if record.shape.says_something:
            place = self._open(place, RowPlan(self._ids.give(base), [record]))
        self.tip = place
        self._places[record.uuid] = place
        if record.shape.interrupts:
            self.moves.append(Ended(True, record.at))

    def _open(self, parent: Place | None, row: RowPlan) -> Place:
        shape = row.records[0].shape
        row.has_usage = shape.message_id not in self._answers or not shape.message_id
        self._answers.add(shape.message_id)
        place = Place(parent, shape.message_id, set(shape.call_ids), [row])
        self.moves.append(Opened(place, row))
        return place

    def _take_boundary(self, record: Record) -> None:
        boundary = self._found.boundaries[record.number]
        preserved = self._take_preserved(boundary)
        logical = boundary.logical_parent or ""
        last = self._places.get(logical) or (preserved[-1] if preserved else self.tip)
        self._compact(Summarised(Place(last, preserved=preserved), record, None, boundary))

    def _take_summary(self, record: Record, parent: Place | None) -> None:
        row = RowPlan(self._ids.give(record.uuid or f"line-{record.number}"), [record])
        move = self._compactions.get(record.parent or "")
        if move is None and self.moves and isinstance(last := self.moves[-1], Summarised) and not last.summary:
            move = last
        if move is None or move.summary is not None:
            move = Summarised(Place(parent or self.tip), record, None, None)
            self._compact(move)
        move.summary = row
        move.place.rows.append(row)
        self._places[record.uuid] = move.place

    def _compact(self, move: Summarised) -> None:
        self.moves.append(move)
        self.tip = self._places[move.record.uuid] = move.place
        self._compactions[move.record.uuid] = move
        for place in move.place.preserved:
            self._goes_on_at[id(place)] = move.place

    def _take_preserved(self, boundary: Boundary) -> list[Place]:
        """The places of the records a boundary preserves. Those that stand later in the file are taken now."""
        places: dict[int, Place] = {}
        under = self.tip
        for uuid in boundary.preserved or self._segment(boundary):
            record = self._by_uuid.get(uuid)
            if record is not None and record.number not in self._taken:
                self._take(record, under)
            place = self._places.get(uuid)
            if place is not None:
                places[id(place)] = under = place
        return list(places.values())

    def _segment(self, boundary: Boundary) -> list[str]:
        """The records from the tail of a preserved run back to its head, in order; empty when they don't connect."""
        if boundary.segment is None:
            return []
        head, tail = boundary.segment
        run: list[str] = []
        record = self._by_uuid.get(tail)
        while record is not None and record.uuid not in run:
            run.append(record.uuid)
            if record.uuid == head:
                return run[::-1]
            record = self._by_uuid.get(record.parent or "")
        return []


"""
"""
