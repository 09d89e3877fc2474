"""Simulated replays of a session under other settings. They read its rows and touch nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ninja import Query, Router, Schema, Status
from pydantic import Field

from compaction.replay import ReplayPolicy
from sessions_app.api.answers import acts, reads, writes
from sessions_app.api.authentication import WRITE, ApiRequest
from sessions_app.api.errors import FieldProblem, unprocessable
from sessions_app.api.parameters import MOST_INT8, MOST_TOKENS, BodySchema, JsonObject, Number, PageQuery, PublicId, Seq
from sessions_app.api.passes import DecisionShape, facts
from sessions_app.api.policies import PolicyBlocks, read_blocks, storable_blocks
from sessions_app.api.reach import get_run, get_session
from sessions_app.models import ReplayRun, Session
from sessions_app.queries.run_pages import read_run_page, read_step_page
from sessions_app.services.replays import cancel_replay, request_replay
from sessions_app.session_policy import blocks_of, window_of

router = Router(tags=["replay runs"])


class RunShape(Schema):
    """A replay. progress in turns; total is null until it is known. result: null until it is done."""

    id: int
    session: str
    policy: str
    settings: JsonObject
    summarizer: str
    token_counter: str
    window_tokens: int | None = Field(description="Null: the session's own.")
    until_seq: int | None
    status: str
    progress_done: int
    progress_total: int | None
    error: str
    result: JsonObject | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class RunPageShape(Schema):
    """Runs, newest first. next: send it as `before`; null at the end."""

    runs: list[RunShape]
    next: int | None


class RunQuery(PageQuery):
    """Which runs."""

    before: int | None = Field(None, ge=0, le=MOST_INT8, description="`next` of the page before.")


class NewRun(BodySchema):
    """A replay to start. settings: values that differ from the project's."""

    policy: ReplayPolicy
    settings: PolicyBlocks = PolicyBlocks(compression={}, auxiliary={})
    window_tokens: int | None = Field(None, ge=1_000, le=MOST_TOKENS, description="Needed while it is unknown.")


class StepShape(DecisionShape):
    """One decision of a replay, taken after a turn."""

    turn: int
    at_position: int | None


class StepPageShape(Schema):
    """Decisions in order, as far as the run has come. next: send it as `after`; null at the end."""

    status: str
    steps: list[StepShape]
    next: int | None


class StepQuery(PageQuery):
    """Which steps."""

    after: Seq = Field(0, description="`next` of the page before.")


def shape_run(run: ReplayRun) -> RunShape:
    """A run as every answer tells it."""
    return RunShape(
        id=run.pk,
        session=run.session.public_id,
        policy=run.policy_name,
        settings=run.policy_settings,
        summarizer=run.summarizer,
        token_counter=run.token_counter,
        window_tokens=run.window_tokens,
        until_seq=run.until_seq,
        status=run.status,
        progress_done=run.progress_done,
        progress_total=run.progress_total,
        error=run.error,
        result=run.result,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )


@router.get("/sessions/{public_id}/runs", response=reads(RunPageShape), operation_id="list_runs")
def list_runs(request: ApiRequest, public_id: PublicId, query: Query[RunQuery]) -> RunPageShape:
    """The session's replays, newest first."""
    session = get_session(request.auth, public_id)
    page = read_run_page(session.pk, query.before, query.limit)
    for run in page.runs:
        run.session = session
    return RunPageShape(runs=[shape_run(run) for run in page.runs], next=page.next_before)


@router.post("/sessions/{public_id}/runs", response=writes(RunShape, 202), auth=WRITE, operation_id="start_run")
def start_run(request: ApiRequest, public_id: PublicId, body: NewRun) -> Status[RunShape]:
    """Start a replay over the session as it is now. It runs in the background (202)."""
    session = get_session(request.auth, public_id)
    require_window(session, body.window_tokens)
    blocks = on_top_of(blocks_of(session), body.settings)
    read_blocks(blocks, prefix="settings.")
    run = request_replay(session, body.policy.value, settings=storable_blocks(blocks), window_tokens=body.window_tokens)
    return Status(202, shape_run(run))


@router.get("/sessions/{public_id}/runs/{run_id}", response=reads(RunShape), operation_id="get_run")
def read_run(request: ApiRequest, public_id: PublicId, run_id: Number) -> RunShape:
    """One replay with its progress and result."""
    return shape_run(get_run(request.auth, public_id, run_id))


@router.post(
    "/sessions/{public_id}/runs/{run_id}/cancel", response=acts(RunShape), auth=WRITE, operation_id="cancel_run"
)
def cancel_run(request: ApiRequest, public_id: PublicId, run_id: Number) -> RunShape:
    """Ask a replay to stop; one that is over stays as it is."""
    cancel_replay(get_run(request.auth, public_id, run_id).pk)
    return shape_run(get_run(request.auth, public_id, run_id))


@router.get("/sessions/{public_id}/runs/{run_id}/steps", response=reads(StepPageShape), operation_id="list_steps")
def list_steps(request: ApiRequest, public_id: PublicId, run_id: Number, query: Query[StepQuery]) -> StepPageShape:
    """What was decided after each turn."""
    run = get_run(request.auth, public_id, run_id)
    page = read_step_page(run.pk, query.after, query.limit)
    steps = [StepShape(**facts(step, StepShape)) for step in page.steps]
    return StepPageShape(status=run.status, steps=steps, next=page.next_after)


def require_window(session: Session, given_tokens: int | None) -> None:
    """Raise Refusal when nobody knows how large the window is."""
    if given_tokens is None and window_of(session).context_tokens is None:
        message = "the window of this model is unknown: say how large it is"
        raise unprocessable([FieldProblem(path="window_tokens", message=message)])


def on_top_of(held_blocks: Mapping[str, Any], given: PolicyBlocks) -> dict[str, Any]:
    """The blocks in force with the given values in their places."""
    return {
        **held_blocks,
        "compression": {**(held_blocks.get("compression") or {}), **given.compression},
        "auxiliary": {**(held_blocks.get("auxiliary") or {}), **given.auxiliary},
    }
