"""The rows of a group of archived neighbours, loaded when it is opened, a limited number at a time."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from sessions_app.models import MessageRow, Session, SummaryRevision
from sessions_app.pages.flow import Key
from sessions_app.pages.row_source import read_rows
from sessions_app.pages.row_view import RowView, view_rows
from sessions_app.pages.walk import FLOW_KINDS, between

GROUP_ROWS = 150


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of a group. rest: the keys between which more of it lies, None when this is all of it."""

    rows: tuple[RowView, ...]
    superseded: tuple[SummaryRevision, ...]
    rest: tuple[Key, Key] | None


def read_group(session: Session, pass_id: int | None, first: Key, last: Key) -> Group:
    """The first rows of a group whose ends are `first` and `last`, and the summaries its pass superseded."""
    rows = MessageRow.objects.filter(session_id=session.pk, died_seq__isnull=False, archived_by_id=pass_id)
    rows = rows.filter(Q(kind__in=FLOW_KINDS) | Q(made_by__isnull=True))
    found = read_rows(between(rows, first, last).order_by("position", "id")[: GROUP_ROWS + 1])
    rest: tuple[Key, Key] | None = None
    if len(found) > GROUP_ROWS:
        rest = (found[-1].key, last)
        found = found[:-1]
    superseded = SummaryRevision.objects.filter(session_id=session.pk, superseded_by_id=pass_id)
    summaries = tuple(superseded.defer("text").order_by("number")) if pass_id is not None else ()
    return Group(tuple(view_rows(found)), summaries, rest)
