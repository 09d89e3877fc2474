"""The context: what a model sees of a session, now or at an earlier event."""

from __future__ import annotations

from ninja import Query, Router, Schema
from pydantic import Field

from compaction.model_view import ModelView, Profile, RepairKind, model_view
from compaction.wire import message_to_openai
from sessions_app.api.answers import reads
from sessions_app.api.authentication import ApiRequest
from sessions_app.api.errors import bad_parameter
from sessions_app.api.parameters import JsonObject, PublicId, Seq
from sessions_app.api.reach import get_session
from sessions_app.models import Session
from sessions_app.queries.contexts import LiveContext, context_as_of, context_now
from sessions_app.session_policy import policy_of

router = Router(tags=["context"])


class RepairShape(Schema):
    """What was changed so that a provider accepts the messages, and the rows it concerns. Rows themselves stay."""

    kind: RepairKind
    row_ids: list[int]


class ContextShape(Schema):
    """Messages ready to send. row_ids: for each message the rows it was made of, none for one that was added."""

    seq: int = Field(description="The event right after which this was the context.")
    messages: list[JsonObject]
    row_ids: list[list[int]]
    repairs: list[RepairShape]
    rows: int
    tokens: int = Field(description="Stored costs of the rows, without system prompt and tools that are no rows.")


class ContextQuery(Schema):
    """Which moment, for which kind of provider."""

    as_of: Seq | None = Field(None, description="Right after this event; now, if left out.")
    profile: Profile = Field(Profile.STRICT, description="strict: roles alternate. free: neighbours may stay apart.")


@router.get("/sessions/{public_id}/context", response=reads(ContextShape), operation_id="get_context")
def read_context(request: ApiRequest, public_id: PublicId, query: Query[ContextQuery]) -> ContextShape:
    """The model view as provider messages, with everything that had to be repaired. Reasoning is in it as the setting
    `resend_reasoning` says."""
    session = get_session(request.auth, public_id)
    found = context_at(session, query.as_of)
    resend = policy_of(session).resend_reasoning
    return shape_context(found, model_view(found.rows, query.profile, resend))


def context_at(session: Session, seq: int | None) -> LiveContext:
    """The context at an event. Raises Refusal for one that has not happened."""
    if seq is None:
        return context_now(session)
    if seq > session.last_seq:
        raise bad_parameter("as_of", f"the newest event is {session.last_seq}")
    return context_as_of(session, seq)


def shape_context(found: LiveContext, view: ModelView) -> ContextShape:
    return ContextShape(
        seq=found.seq,
        messages=[message_to_openai(entry.message) for entry in view.entries],
        row_ids=[list(entry.row_ids) for entry in view.entries],
        repairs=[RepairShape(kind=repair.kind, row_ids=list(repair.row_ids)) for repair in view.repairs],
        rows=len(found.rows),
        tokens=sum(row.tokens for row in found.rows),
    )
