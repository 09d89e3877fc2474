"""The settings of one session: what is in force and why, and what is set for it alone, on top of its project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from ninja import Router, Schema
from pydantic import Field

from compaction.policy_reading import AUXILIARY
from compaction.wording import worded
from sessions_app.api.answers import reads, writes
from sessions_app.api.authentication import WRITE, ApiRequest
from sessions_app.api.errors import FieldProblem, Problem, out_of_date, unprocessable
from sessions_app.api.parameters import JsonObject, PublicId
from sessions_app.api.policies import NewRevision, Remark, field_of, remarks_of, storable_blocks
from sessions_app.api.reach import get_session
from sessions_app.api.settings import EffectiveValue, effective_values
from sessions_app.models import Session
from sessions_app.origins import token_origin
from sessions_app.policy_changes import flat
from sessions_app.policy_checking import judge
from sessions_app.services import PolicyConflict, save_session_policy
from sessions_app.session_policy import newest_own_revision, reading_of
from sessions_app.setting_paths import SESSION_SETTINGS, named_setting

router = Router(tags=["settings"])
NOT_HERE: Final = "This is set for a whole project, by its owners; it can't be set for one session."


class SessionSettingsShape(Schema):
    """The settings in force in a session. written: what is set for it alone, as it was saved."""

    revision: int = Field(description="Number of the newest of the session's own; 0 when nobody ever set any.")
    saved_at: datetime | None
    values: list[EffectiveValue]
    written: JsonObject
    threshold_tokens: int | None = Field(description="The threshold that follows.")
    threshold_source: str
    remarks: list[Remark]


class NewSessionSettings(NewRevision):
    """What to set for one session. What is left out is as in its project; empty blocks set nothing."""

    auxiliary: JsonObject = Field({}, description="Must be empty: who summarizes is set for a whole project.")


@router.get("/sessions/{public_id}/settings", response=reads(SessionSettingsShape), operation_id="get_session_settings")
def read_session_settings(request: ApiRequest, public_id: PublicId) -> SessionSettingsShape:
    """The effective value of every setting with the scope it comes from, the session's own last."""
    return shape_session_settings(get_session(request.auth, public_id))


_SAVES = {**writes(SessionSettingsShape), 409: Problem}


@router.put("/sessions/{public_id}/settings", response=_SAVES, auth=WRITE, operation_id="save_session_settings")
def save_session_settings(request: ApiRequest, public_id: PublicId, body: NewSessionSettings) -> SessionSettingsShape:
    """Save what is set for this session alone as a new revision. A pass that runs keeps the settings it began with."""
    session = get_session(request.auth, public_id)
    named = {"compression": body.compression, "auxiliary": body.auxiliary}
    blocks = {name: block for name, block in named.items() if block}
    if outside := list(_outside(blocks)):
        raise unprocessable(outside)
    verdict = judge(session, blocks, accept_nearest=body.accept_nearest)
    if verdict.refusals:
        raise unprocessable(field_of(problem, "") for problem in verdict.refusals)
    note = body.note or worded("Saved with the API token {}", request.auth.name)
    origin = token_origin(request, request.auth)
    try:
        save_session_policy(session.pk, storable_blocks(blocks), None, note, base=body.base, origin=origin)
    except PolicyConflict as conflict:
        raise out_of_date(conflict.newest) from conflict
    return shape_session_settings(get_session(request.auth, public_id))


def _outside(blocks: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """The paths that may not be set for one session: settings of the whole project, and all of the other block."""
    for path in flat(blocks):
        named = named_setting(path)
        if path.partition(".")[0] == AUXILIARY or (named is not None and named not in SESSION_SETTINGS):
            yield FieldProblem(path=path, message=NOT_HERE)


def shape_session_settings(session: Session) -> SessionSettingsShape:
    """The session's settings as reading and saving tell them."""
    reading, newest = reading_of(session), newest_own_revision(session)
    return SessionSettingsShape(
        revision=0 if newest is None else newest.number,
        saved_at=None if newest is None else newest.created_at,
        values=effective_values(reading),
        written=session.policy_settings,
        threshold_tokens=session.threshold_tokens,
        threshold_source=session.threshold_source,
        remarks=remarks_of(reading.problems),
    )
