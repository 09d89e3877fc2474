"""Events: what happened in a session, by number."""

from __future__ import annotations

from datetime import datetime

from ninja import Query, Router, Schema
from pydantic import Field

from compaction.threshold import occupancy_pct
from sessions_app.api.answers import reads
from sessions_app.api.authentication import ApiRequest
from sessions_app.api.parameters import PublicId, Seq
from sessions_app.api.reach import get_session
from sessions_app.models import EventKind, Session, SessionEvent
from sessions_app.queries.event_pages import read_event_page

router = Router(tags=["events"])


class EventShape(Schema):
    """One event, with the totals after it. first_position, last_position: the rows it concerns lie between them."""

    seq: int
    kind: EventKind
    at: datetime | None
    first_position: int | None
    last_position: int | None
    pass_number: int | None
    live_rows: int
    live_tokens: int
    threshold_tokens: int | None
    occupancy_pct: float | None


class EventPageShape(Schema):
    """Events in order. more: others follow; ask again with the last seq of these as `after`."""

    events: list[EventShape]
    more: bool
    last_seq: int = Field(description="Number of the session's newest event when this was read.")


class EventQuery(Schema):
    """From where on."""

    after: Seq = Field(0, description="The last event you have seen.")
    limit: int = Field(200, ge=1, le=1_000, description="At most so many.")


@router.get("/sessions/{public_id}/events", response=reads(EventPageShape), operation_id="list_events")
def list_events(request: ApiRequest, public_id: PublicId, query: Query[EventQuery]) -> EventPageShape:
    """What happened after an event."""
    session = get_session(request.auth, public_id)
    page = read_event_page(session.pk, query.after, query.limit)
    events = [shape_event(session, event) for event in page.events]
    newest = max([session.last_seq, *(event.seq for event in events)])
    return EventPageShape(events=events, more=page.has_more, last_seq=newest)


def shape_event(session: Session, event: SessionEvent) -> EventShape:
    overhead = session.fixed_overhead_tokens or 0
    return EventShape(
        seq=event.seq,
        kind=EventKind(event.kind),
        at=event.at,
        first_position=event.first_position,
        last_position=event.last_position,
        pass_number=None if event.compaction_pass is None else event.compaction_pass.number,
        live_rows=event.live_rows,
        live_tokens=event.live_tokens,
        threshold_tokens=event.threshold_tokens,
        occupancy_pct=occupancy_pct(event.live_tokens, event.threshold_tokens, overhead),
    )
