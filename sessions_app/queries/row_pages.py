"""Stored rows in order, a page at a time, in either direction.

A page is cut by keys, so one in the middle of a million rows costs as much as the first. It ends early when its rows
are large: a page of a few pictures is still an answer of reasonable size.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.db.models import Q, QuerySet

from compaction.messages import RowKey
from sessions_app.models import MessageRow

# Rows are fetched in pieces of so many, and no more pieces once the page holds so many characters.
CHUNK_ROWS: Final = 25
MOST_CHARS: Final = 8_000_000


class RowState(StrEnum):
    """Which rows: all that were ever stored, those in the live context, or those that left it."""

    ALL = "all"
    LIVE = "live"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class RowPage:
    """Rows in order. has_earlier, has_later: whether more lie on either side."""

    rows: tuple[MessageRow, ...]
    has_earlier: bool
    has_later: bool


def rows_of(session_id: int, state: RowState = RowState.ALL) -> QuerySet[MessageRow]:
    """Rows of a session with the passes that made and archived them; the source's own record only when it is read."""
    rows = MessageRow.objects.filter(session_id=session_id).select_related("made_by", "archived_by")
    rows = rows.defer(*(f"{link}__{column}" for link in ("made_by", "archived_by") for column in LONG_PASS_COLUMNS))
    match state:
        case RowState.LIVE:
            return rows.filter(died_seq__isnull=True)
        case RowState.ARCHIVED:
            return rows.filter(died_seq__isnull=False)
        case RowState.ALL:
            return rows


# Columns of a pass that can be long and say nothing about its rows.
LONG_PASS_COLUMNS: Final = (
    *("prompt_system", "prompt_user", "reply_text", "summary_before", "summary_after", "edit", "telemetry", "zones"),
    *("exchanges", "notes", "state_before", "cache_estimate", "detail"),
)


def read_row_page(
    rows: QuerySet[MessageRow], limit: int, *, after: RowKey | None = None, before: RowKey | None = None
) -> RowPage:
    """At most `limit` rows behind `after`, or in front of `before`, or the first ones. One query."""
    if before is not None:
        found, has_more = _take(rows.filter(_in_front_of(before)).order_by("-position", "-id"), limit)
        return RowPage(tuple(reversed(found)), has_more, True)
    started = rows if after is None else rows.filter(_behind(after))
    found, has_more = _take(started.order_by("position", "id"), limit)
    return RowPage(tuple(found), after is not None, has_more)


def _take(rows: QuerySet[MessageRow], limit: int) -> tuple[list[MessageRow], bool]:
    found: list[MessageRow] = []
    chars = 0
    for row in rows[: limit + 1].iterator(CHUNK_ROWS):
        if len(found) == limit or (found and chars > MOST_CHARS):
            return found, True
        found.append(row)
        chars += _chars(row)
    return found, False


def _chars(row: MessageRow) -> int:
    """About how much of an answer the row takes."""
    parts = sum(len(str(part.get("text") or part.get("raw") or "")) for part in row.parts or ())
    calls = sum(len(str(call.get("arguments") or "")) for call in row.tool_calls or ())
    raw = 0 if "raw" in row.get_deferred_fields() else len(row.raw)
    return len(row.content or "") + len(row.reasoning or "") + parts + calls + raw


# The index leads with the position; the bound on it alone lets the database begin there.
def _behind(key: RowKey) -> Q:
    exact = Q(position__gt=key.position) | Q(position=key.position, id__gt=key.id)
    return Q(position__gte=key.position) & exact


def _in_front_of(key: RowKey) -> Q:
    exact = Q(position__lt=key.position) | Q(position=key.position, id__lt=key.id)
    return Q(position__lte=key.position) & exact
