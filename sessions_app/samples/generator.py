"""From a story to a finished session: drafts, lengths, ids and times. The same checkout gives the same session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random

from compaction.messages import Message, Role
from compaction.tokens import TokenCounter, row_tokens
from sessions_app.samples.checkout import Checkout
from sessions_app.samples.clock import time_phase
from sessions_app.samples.fitting import DraftStep, bounds_tokens, fit_steps
from sessions_app.samples.patches import plant_slips
from sessions_app.samples.placeholders import resolve
from sessions_app.samples.scene import Scene, scene_of
from sessions_app.samples.sharing import Demand, share_out
from sessions_app.samples.story import Phase, Step, Story
from sessions_app.samples.tools import draft_call
from sessions_app.samples.transcript import SampleRow, SampleSession, SampleTurn


@dataclass(frozen=True, slots=True)
class DraftTurn:
    """A request, finished, and the steps that answer it, whose lengths are open."""

    request: SampleRow
    steps: tuple[DraftStep, ...]


def generate(story: Story, checkout: Checkout, counter: TokenCounter) -> SampleSession:
    """The session `story` tells, told with the files of `checkout`. Token totals hold for `counter`."""
    checkout = checkout.working_copy(without=story.hidden)
    plant_slips(story, checkout)
    system = plain_row(Role.SYSTEM, resolve(checkout, story.system_prompt), counter)
    system = replace(system, at=float(story.started_at))
    turns: list[SampleTurn] = []
    for index, phase in enumerate(story.phases):
        spent = system.tokens if index == 0 else 0
        filled = list(fill_phase(story, phase, spent, checkout, counter))
        ended_at = turns[-1].rows[-1].at if turns else float(story.started_at)
        clock = Random(f"{story.session_id}/{phase.name}/clock")
        turns.extend(time_phase(phase, filled, ended_at, clock, has_begun=bool(turns)))
    return SampleSession(story, system, tuple(turns))


def fill_phase(
    story: Story, phase: Phase, spent_tokens: int, checkout: Checkout, counter: TokenCounter
) -> Iterator[SampleTurn]:
    """The phase's turns; together with `spent_tokens` they cost what the phase may cost, to a line."""
    drafts = list(draft_phase(story, phase, checkout, counter))
    demands = [demand_of(draft, turn.weight, counter) for draft, turn in zip(drafts, phase.turns, strict=True)]
    due, spent = float(spent_tokens), spent_tokens
    for draft, share in zip(drafts, share_out(phase.tokens - spent_tokens, demands), strict=True):
        due += share
        rows = fit_steps(draft.steps, round(due) - spent - draft.request.tokens, counter)
        filled = SampleTurn(phase.name, (draft.request, *rows))
        spent += filled.tokens
        yield filled


def draft_phase(story: Story, phase: Phase, checkout: Checkout, counter: TokenCounter) -> Iterator[DraftTurn]:
    """Drafts in order: what one turn edits the next one reads."""
    day = datetime.fromtimestamp(story.started_at, UTC).date().isoformat()
    for number, turn in enumerate(phase.turns, 1):
        scene = scene_of(checkout, day, story.session_id, phase.name, number)
        request = plain_row(Role.USER, resolve(checkout, turn.request), counter)
        yield DraftTurn(request, tuple(draft_step(step, scene) for step in turn.steps))


def demand_of(draft: DraftTurn, weight: float, counter: TokenCounter) -> Demand:
    least, most = bounds_tokens(draft.steps, counter)
    return Demand(weight, draft.request.tokens + least, draft.request.tokens + most)


def draft_step(step: Step, scene: Scene) -> DraftStep:
    return DraftStep(
        resolve(scene.checkout, step.prose),
        resolve(scene.checkout, step.reasoning) or None,
        tuple(draft_call(scene, call) for call in step.calls),
        tuple(f"call_{scene.random.getrandbits(96):024x}" for _ in step.calls),
    )


def plain_row(role: Role, text: str, counter: TokenCounter) -> SampleRow:
    message = Message(role, text)
    return SampleRow(message, row_tokens(message, counter))
