"""The rows of a group of archived neighbours, loaded when it is opened, a limited number at a time."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from sessions_app.models import MessageRow, Session, SummaryRevision
from sessions_app.pages.flow import Key
from sessions_app.pages.row_source import read_rows
from sessions_app.pages.row_view import RowView, view_rows
from sessions_app.pages.walk import FLOW_KINDS, between

GROUP_ROWS = 150
LEADING_ROWS = 10


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of a group. earlier, rest: the keys between which more of it lies in front and behind, None for nothing."""

    rows: tuple[RowView, ...]
    superseded: tuple[SummaryRevision, ...]
    rest: tuple[Key, Key] | None
    earlier: tuple[Key, Key] | None = None


def read_group(session: Session, pass_id: int | None, first: Key, last: Key, position: int | None = None) -> Group:
    """The first rows of a group whose ends are `first` and `last`, and the summaries its pass superseded.

    position: a row that must be among them; where it lies far behind the first, the rows begin a little before it.
    """
    rows = MessageRow.objects.filter(session_id=session.pk, died_seq__isnull=False, archived_by_id=pass_id)
    rows = rows.filter(Q(kind__in=FLOW_KINDS) | Q(made_by__isnull=True))
    earlier = earlier_keys(between(rows, first, last), first, position)
    begin = first if earlier is None else (earlier[1][0], earlier[1][1] + 1)
    found = read_rows(between(rows, begin, last).order_by("position", "id")[: GROUP_ROWS + 1])
    rest: tuple[Key, Key] | None = None
    if len(found) > GROUP_ROWS:
        rest = (found[-1].key, last)
        found = found[:-1]
    superseded = SummaryRevision.objects.filter(session_id=session.pk, superseded_by_id=pass_id)
    summaries = tuple(superseded.defer("text").order_by("number")) if pass_id is not None else ()
    return Group(tuple(view_rows(found)), summaries, rest, earlier)


def earlier_keys(rows: QuerySet[MessageRow], first: Key, position: int | None) -> tuple[Key, Key] | None:
    """The keys of the rows to leave out in front, so that the row at `position` is among the first to be read."""
    if position is None:
        return None
    before = rows.filter(position__lte=position).order_by("-position", "-id").values_list("position", "id")
    keys = list(before[: GROUP_ROWS + 1])
    return (first, keys[LEADING_ROWS]) if len(keys) > GROUP_ROWS else None
