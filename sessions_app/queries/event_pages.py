"""Events of a session behind a number, a bounded page at a time."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import SessionEvent


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in order, and whether more follow."""

    events: tuple[SessionEvent, ...]
    has_more: bool


def read_event_page(session_id: int, after_seq: int, limit: int) -> EventPage:
    """At most `limit` events behind `after_seq`, with their passes' numbers, in one query."""
    events = SessionEvent.objects.filter(session_id=session_id, seq__gt=after_seq).select_related("compaction_pass")
    columns = ("seq", "kind", "at", "first_position", "last_position", "live_rows", "live_tokens", "threshold_tokens")
    narrow = events.only("id", "session_id", "compaction_pass_id", *columns, "compaction_pass__number")
    found = list(narrow.order_by("seq")[: limit + 1])
    return EventPage(tuple(found[:limit]), len(found) > limit)
