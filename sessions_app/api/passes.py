"""Passes: the ledger, and everything that was stored about one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from sessions_app.api.answers import reads
from sessions_app.api.authentication import ApiRequest
from sessions_app.api.parameters import MOST_INT8, JsonObject, Number, PublicId
from sessions_app.api.reach import get_session
from sessions_app.models import CompactionPass, PassFacts, PassKind
from sessions_app.pages.ledger import LedgerFilter, read_ledger

router = Router(tags=["passes"])


class DecisionShape(Schema):
    """What was decided and what came of it. Unknown is null. Tokens before and after are of the whole context."""

    number: int
    kind: PassKind
    outcome: str
    reason: str
    detail: str
    notes: list[str] | None
    turn: int | None
    tokens_before: int | None
    tokens_after: int | None
    rows_before: int | None
    rows_after: int | None
    exchange_tokens: int | None
    rolling_summary_tokens: int | None
    occupancy_pct: float | None
    threshold_tokens: int | None
    duration_ms: int | None
    input_tokens: int | None
    output_tokens: int | None
    cache_break_tokens: int | None
    main_model: str | None
    aux_model: str | None


class PassShape(DecisionShape):
    """A pass over the session. seq: its event. undone_seq: the event of its undo."""

    seq: int
    at: datetime | None
    origin: str
    trigger: str | None
    committed: bool = Field(description="It changed rows.")
    undone_seq: int | None


class PassDetail(PassShape):
    """Everything that was stored when the pass ran; nothing of it is worked out afterwards."""

    zones: JsonObject | None
    exchanges: list[JsonObject] | None
    edit: JsonObject | None = Field(description="Ids of archived and superseded rows, and the inserted ones.")
    prompt_system: str | None
    prompt_user: str | None
    reply_text: str | None
    reply_error: str
    finish_reason: str | None
    redactions: int | None
    summary_before: str | None
    summary_after: str | None
    telemetry: JsonObject | None
    started_at: datetime | None


class PassPage(Schema):
    """Passes, newest first, at most 100. next: send it as `before` for the older ones; null at the end."""

    passes: list[PassShape]
    next: int | None


class PassQuery(Schema):
    """Which passes."""

    kind: PassKind | None = None
    outcome: str = Field("", pattern="^[a-z_]{0,40}$", description="One outcome, or `failed` for all failures.")
    before: int | None = Field(None, ge=0, le=MOST_INT8, description="`next` of the page before.")


def facts(stored: PassFacts, shape: type[Schema]) -> dict[str, Any]:
    """The columns a shape has, by name."""
    return {name: getattr(stored, name) for name in shape.model_fields}


def shape_pass(stored: CompactionPass) -> PassShape:
    """A pass as lists and exports tell it."""
    return PassShape(**facts(stored, PassShape))


@router.get("/sessions/{public_id}/passes", response=reads(PassPage), operation_id="list_passes")
def list_passes(request: ApiRequest, public_id: PublicId, query: Query[PassQuery]) -> PassPage:
    """The session's passes, newest first, those that failed or found nothing to do included."""
    wanted = LedgerFilter(query.kind or "", query.outcome, query.before)
    page = read_ledger(get_session(request.auth, public_id), wanted)
    return PassPage(passes=[shape_pass(one) for one in page.passes], next=page.older)


@router.get("/sessions/{public_id}/passes/{number}", response=reads(PassDetail), operation_id="get_pass")
def read_pass(request: ApiRequest, public_id: PublicId, number: Number) -> PassDetail:
    """One pass with its plan, prompt, reply and edit."""
    session = get_session(request.auth, public_id)
    stored = get_object_or_404(CompactionPass, session_id=session.pk, number=number)
    return PassDetail(**facts(stored, PassDetail))
