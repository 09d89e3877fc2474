"""Walking along a session by keys: live rows one by one, archived neighbours of one pass as one group.

Reads only ids, places and sizes, in chunks; a group that is larger than a chunk is measured by the database. So a
window costs the same whether a pass archived five rows or fifty thousand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from django.db.models import Count, Max, Min, Q, QuerySet, Sum

from compaction.messages import Role, RowKind
from sessions_app.models import MessageRow, PassKind, Session
from sessions_app.pages.flow import Key
from sessions_app.queries.chunk_sizes import chunk_sizes

# What a first chunk holds for each stretch that is wanted.
CHUNK_PER_STRETCH = 12
# A group of at least so many rows is not read to its end but measured.
CHUNK = 400
LARGEST_CHUNK = 800
FLOW_KINDS = (RowKind.MESSAGE.value, RowKind.PRUNE_STUB.value)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring rows with one fate. For live rows it is one row, and pass_id is None.

    For dead rows pass_id is None when no pass archived them (a rewind).
    """

    is_live: bool
    pass_id: int | None
    first: Key
    last: Key
    count: int
    tokens: int
    is_result: bool = False


class FlowRow(NamedTuple):
    """The columns of a row that a walk reads, in the order in which they are read."""

    id: int
    position: int
    died_seq: int | None
    archived_by_id: int | None
    tokens: int
    role: str

    @property
    def key(self) -> Key:
        """The row's place in the order of its session."""
        return self.position, self.id


@dataclass(frozen=True, slots=True)
class Walk:
    """What was found, in order of keys, and whether the walk stopped before its end."""

    stretches: tuple[Stretch, ...]
    has_more: bool


def flow_rows(session: Session, *, live_only: bool = False) -> QuerySet[MessageRow]:
    """The rows a reader walks over: no summaries, and no original that a stub stands for."""
    # An archived summary that no pass of ours or its source's made is shown like any other row: nothing is unreachable.
    is_foreign = Q(made_by__isnull=True, died_seq__isnull=False)
    rows = MessageRow.objects.filter(Q(kind__in=FLOW_KINDS) | is_foreign, session_id=session.pk)
    if live_only:
        return rows.filter(died_seq__isnull=True)
    return rows.exclude(archived_by__kind=PassKind.PRUNE) if session.prune_passes else rows


def beyond(rows: QuerySet[MessageRow], after: Key | None, before: Key | None) -> QuerySet[MessageRow]:
    """Rows strictly between two keys. The bounds on the position alone let the database begin at the right place."""
    if after is not None:
        position, row_id = after
        rows = rows.filter(position__gte=position).filter(Q(position__gt=position) | Q(id__gt=row_id))
    if before is not None:
        position, row_id = before
        rows = rows.filter(position__lte=position).filter(Q(position__lt=position) | Q(id__lt=row_id))
    return rows


def from_key(rows: QuerySet[MessageRow], start: Key | None) -> QuerySet[MessageRow]:
    """Rows from one key on, itself included."""
    return rows if start is None else beyond(rows, (start[0], start[1] - 1), None)


def between(rows: QuerySet[MessageRow], first: Key, last: Key) -> QuerySet[MessageRow]:
    """Rows from one key to another, both included."""
    return beyond(rows, (first[0], first[1] - 1), (last[0], last[1] + 1))


def walk_forward(rows: QuerySet[MessageRow], after: Key | None, before: Key | None, wanted: int) -> Walk:
    """About `wanted` stretches from `after` on; results of the last call are not cut off from it."""
    stretches: list[Stretch] = []
    for stretch in stretches_between(rows, after, before, wanted, backwards=False):
        if len(stretches) >= wanted and not (stretch.is_result and stretch.is_live):
            return Walk(tuple(stretches), True)
        stretches.append(stretch)
    return Walk(tuple(stretches), False)


def walk_backward(rows: QuerySet[MessageRow], after: Key | None, before: Key | None, wanted: int) -> Walk:
    """About `wanted` stretches before `before`, in order; it does not begin with a result whose call it left out."""
    stretches: list[Stretch] = []
    for stretch in stretches_between(rows, after, before, wanted, backwards=True):
        if len(stretches) >= wanted and not (stretches[-1].is_result and stretches[-1].is_live):
            return Walk(tuple(reversed(stretches)), True)
        stretches.append(stretch)
    return Walk(tuple(reversed(stretches)), False)


def stretches_between(
    rows: QuerySet[MessageRow], after: Key | None, before: Key | None, wanted: int, *, backwards: bool
) -> Iterator[Stretch]:
    """All stretches between two keys, lazily. wanted: about how many of them will be asked for."""
    order = ("-position", "-id") if backwards else ("position", "id")
    held: Stretch | None = None
    for size in chunk_sizes(min(wanted * CHUNK_PER_STRETCH, CHUNK), LARGEST_CHUNK):
        chunk = [
            FlowRow(*found)
            for found in beyond(rows, after, before).order_by(*order).values_list(*FlowRow._fields)[:size]
        ]
        for _, neighbours in groupby(chunk, key=fate_of):
            stretch = stretch_of(list(neighbours))
            if held is not None and is_same_group(held, stretch):
                held = joined(held, stretch)
                continue
            if held is not None:
                yield held
            held = stretch
        if len(chunk) < size:
            break
        last: Key = chunk[-1].key
        if held is not None and held.count >= CHUNK:
            held = measured_to_its_end(rows, held, after, before, backwards=backwards)
            last = held.first if backwards else held.last
        after, before = (after, last) if backwards else (last, before)
    if held is not None:
        yield held


def fate_of(row: FlowRow) -> tuple[bool, int | None]:
    """What neighbours share that stand in the line as one: the pass that archived them. A live row stands alone."""
    return (True, row.id) if row.died_seq is None else (False, row.archived_by_id)


def stretch_of(rows: Sequence[FlowRow]) -> Stretch:
    """Neighbours of one fate, in either order."""
    one, ends = rows[0], (rows[0].key, rows[-1].key)
    return Stretch(
        is_live=one.died_seq is None,
        pass_id=one.archived_by_id,
        first=min(ends),
        last=max(ends),
        count=len(rows),
        tokens=sum(row.tokens for row in rows),
        is_result=one.role == Role.TOOL.value,
    )


def is_same_group(one: Stretch, other: Stretch) -> bool:
    """Whether two neighbouring stretches are parts of one group."""
    return not one.is_live and not other.is_live and one.pass_id == other.pass_id


def joined(one: Stretch, other: Stretch) -> Stretch:
    return replace(
        one,
        first=min(one.first, other.first),
        last=max(one.last, other.last),
        count=one.count + other.count,
        tokens=one.tokens + other.tokens,
    )


def measured_to_its_end(
    rows: QuerySet[MessageRow], group: Stretch, after: Key | None, before: Key | None, *, backwards: bool
) -> Stretch:
    """A large group with the rest of it, which is counted and not read."""
    edge = (after, group.first) if backwards else (group.last, before)
    same = Q(died_seq__isnull=False, archived_by_id=group.pass_id)
    others = beyond(rows, *edge).exclude(same).order_by(*(("-position", "-id") if backwards else ("position", "id")))
    found = others.values_list("position", "id").first()
    end: Key | None = (found[0], found[1]) if found else None
    bounds = (end or after, group.first) if backwards else (group.last, end or before)
    rest = beyond(rows, *bounds).aggregate(
        count=Count("id"), tokens=Sum("tokens"), low=Min("position"), high=Max("position")
    )
    if not rest["count"]:
        return group
    place = rest["low"] if backwards else rest["high"]
    edge_id = (
        beyond(rows, *bounds).filter(position=place).order_by("id" if backwards else "-id").values_list("id")[0][0]
    )
    return joined(
        group,
        Stretch(False, group.pass_id, (place, edge_id), (place, edge_id), rest["count"], rest["tokens"] or 0),
    )
