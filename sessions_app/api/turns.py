"""The end of a turn: the reply was sent, and the pass after it may run."""

from __future__ import annotations

from ninja import Router, Schema
from pydantic import Field

from sessions_app.api.answers import acts_on_hosted
from sessions_app.api.authentication import WRITE, ApiRequest
from sessions_app.api.parameters import BodySchema, PublicId
from sessions_app.api.reach import get_hosted_session
from sessions_app.services import finish_turn

router = Router(tags=["turns"])


class TurnEnd(BodySchema):
    """How the turn ended."""

    interrupted: bool = Field(False, description="It was broken off, so no pass follows.")


class TurnFinished(Schema):
    """The turn that ended; null when there was none, or it had ended before: then nothing changed."""

    turn: int | None


@router.post(
    "/sessions/{public_id}/turns/finish", response=acts_on_hosted(TurnFinished), auth=WRITE, operation_id="finish_turn"
)
def finish(request: ApiRequest, public_id: PublicId, body: TurnEnd) -> TurnFinished:
    """Note that the reply of the newest turn was sent. The pass runs in the background; appends never wait for it."""
    session = get_hosted_session(request.auth, public_id)
    return TurnFinished(turn=finish_turn(session.pk, interrupted=body.interrupted))
