"""Going to a row by its number: the address of the row, and what to say when there is none of that number."""

from __future__ import annotations

from django.db.models import Max
from django.http import QueryDict
from django.utils.translation import gettext

from sessions_app.models import Session
from sessions_app.pages.transcript import RowFilter
from sessions_app.pages.walk import flow_rows


def jump_address(session: Session, position: int, row_filter: RowFilter) -> str:
    """Query and fragment of the page that shows the row. A filter that would hide the row is left out."""
    query = QueryDict(mutable=True)
    query["row"] = str(position)
    if row_filter in (RowFilter.LIVE, RowFilter.ARCHIVED) and is_shown(session, position, row_filter):
        query["show"] = row_filter.value
    return f"?{query.urlencode()}#r{position}"


def is_shown(session: Session, position: int, row_filter: RowFilter) -> bool:
    """Whether a row of this number is among those the filter shows."""
    rows = flow_rows(session, live_only=row_filter is RowFilter.LIVE).filter(position=position)
    return rows.filter(archived_by__isnull=False).exists() if row_filter is RowFilter.ARCHIVED else rows.exists()


def no_such_row(session: Session, position: int | None, row_filter: RowFilter) -> str:
    """Why the wanted row is not on the page; empty when it is there or none was wanted."""
    if position is None or is_shown(session, position, row_filter):
        return ""
    last = flow_rows(session).aggregate(last=Max("position"))["last"]
    if last is None:
        return gettext("There is no row %(wanted)d: the session has no rows yet.") % {"wanted": position}
    if position > last:
        return gettext("There is no row %(wanted)d: the last one is row %(last)d.") % {"wanted": position, "last": last}
    return gettext("Row %(wanted)d is not among the rows shown here.") % {"wanted": position}
