"""Acting on a session: taking a pass back, beginning anew, branching. What each would change, a page says beforehand.

A session that was imported can only be branched: its rows are somebody else's.
"""

from __future__ import annotations

from ninja import Router, Status
from pydantic import Field

from sessions_app.acting import act_on
from sessions_app.action_form import MOST_HOLD_TURNS, Action
from sessions_app.api.answers import acts_on_hosted, writes
from sessions_app.api.authentication import WRITE, ApiRequest
from sessions_app.api.errors import FieldProblem, Refusal, unprocessable
from sessions_app.api.parameters import MOST_INT8, BodySchema, PublicId
from sessions_app.api.reach import get_hosted_session, get_session
from sessions_app.api.sessions import SessionShape, shape_session
from sessions_app.models import Session
from sessions_app.origins import token_origin
from sessions_app.services import NothingToUndo

router = Router(tags=["acting"])
_REFUSING = acts_on_hosted(SessionShape)


class Undo(BodySchema):
    """Taking the newest pass back."""

    hold_turns: int | None = Field(
        None, ge=1, le=MOST_HOLD_TURNS, description="Automatic passes are held for so many turns; null: until resumed."
    )


class Reset(BodySchema):
    """Beginning anew. Nothing is lost to readers, but passes from before can't be undone any more."""


class Branch(BodySchema):
    """Where a branch begins."""

    seq: int = Field(ge=1, le=MOST_INT8, description="It begins with what the model saw right after this event.")


@router.post("/sessions/{public_id}/undo", response=_REFUSING, auth=WRITE, operation_id="undo_pass")
def undo(request: ApiRequest, public_id: PublicId, body: Undo) -> SessionShape:
    """Take the newest pass back: its rows live again, its summary is withdrawn, and automatic passes are held."""
    try:
        return shape_session(_acted(request, public_id, Action.UNDO, turns=body.hold_turns))
    except NothingToUndo as error:
        raise Refusal(409, "nothing_to_undo", f"There is no pass that could be taken back: {error}.") from None


@router.post("/sessions/{public_id}/reset", response=_REFUSING, auth=WRITE, operation_id="reset_session")
def reset(request: ApiRequest, public_id: PublicId, body: Reset) -> SessionShape:
    """Begin the conversation anew: all live rows but the system prompt leave the context."""
    return shape_session(_acted(request, public_id, Action.RESET))


@router.post(
    "/sessions/{public_id}/branch", response=writes(SessionShape, 201), auth=WRITE, operation_id="branch_session"
)
def branch(request: ApiRequest, public_id: PublicId, body: Branch) -> Status[SessionShape]:
    """A new session with the rows that were live right after an event; this one is left as it is."""
    session = get_session(request.auth, public_id)
    if body.seq > session.last_seq:
        raise unprocessable([FieldProblem(path="seq", message=f"the session has events 1 to {session.last_seq}")])
    made = act_on(token_origin(request, request.auth), session, Action.BRANCH, {"seq": body.seq})
    return Status(201, shape_session(made))


def _acted(request: ApiRequest, public_id: str, action: Action, **given: object) -> Session:
    """The session after the action. One that was imported is refused (409)."""
    session = get_hosted_session(request.auth, public_id)
    act_on(token_origin(request, request.auth), session, action, given)
    return get_session(request.auth, public_id)
