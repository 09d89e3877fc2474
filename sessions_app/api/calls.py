"""Calls: the ledger of everything a session asked of models."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from ninja import Query, Router, Schema
from pydantic import Field

from sessions_app.api.answers import reads
from sessions_app.api.authentication import ApiRequest
from sessions_app.api.parameters import PageQuery, PublicId, Seq
from sessions_app.api.reach import get_session
from sessions_app.models import CallPurpose, ModelCall
from sessions_app.queries.calls import read_call_page

router = Router(tags=["calls"])


class CallShape(Schema):
    """One question put to a model. What it did not report is null."""

    id: int
    at: datetime
    purpose: CallPurpose
    made_for_pass: int | None = Field(description="The pass it was made for; null for the main model.")
    provider: str
    endpoint: str = Field(description="Without its query; empty for a summarizer that asks nobody.")
    model: str | None
    input_tokens: int | None = Field(description="Those served from a cache included.")
    output_tokens: int | None = Field(description="The reasoning included.")
    cached_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: Decimal | None
    duration_ms: int | None
    first_token_ms: int | None = Field(description="Null when the answer came whole.")
    error: str = Field(description="Named reason of a call that failed, else empty.")
    context_seq: int | None = Field(description="Main model: the event whose live rows were sent.")
    context_rows: int | None
    context_tokens: int | None = Field(description="With the fixed overhead.")
    repairs: list[str] | None = Field(description="What the model view changed, by kind.")
    waited_ms: int | None = Field(description="How long the request waited for passes.")
    went_ahead: bool | None = Field(description="It went out although a pass was still to come.")


class CallPage(Schema):
    """Calls, oldest first. next: send it as `after`; null at the end."""

    calls: list[CallShape]
    next: int | None


class CallQuery(PageQuery):
    """Which calls."""

    after: Seq = Field(0, description="`next` of the page before.")
    purpose: CallPurpose | None = Field(None, description="Only calls for this.")


_SAME = tuple(name for name in CallShape.model_fields if name not in ("purpose", "made_for_pass"))


def shape_call(stored: ModelCall) -> CallShape:
    """A call as the list tells it."""
    made = stored.compaction_pass
    facts = {name: getattr(stored, name) for name in _SAME}
    return CallShape(purpose=CallPurpose(stored.purpose), made_for_pass=None if made is None else made.number, **facts)


@router.get("/sessions/{public_id}/calls", response=reads(CallPage), operation_id="list_calls")
def list_calls(request: ApiRequest, public_id: PublicId, query: Query[CallQuery]) -> CallPage:
    """Every question that was put to a model for the session, oldest first, failed ones included."""
    session = get_session(request.auth, public_id)
    page = read_call_page(session.pk, query.after, query.limit, query.purpose)
    return CallPage(calls=[shape_call(one) for one in page.calls], next=page.next_after)
