"""From a story to a finished session: drafts, lengths, ids and times. Pure; the same checkout gives the same session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

from compaction.messages import Message, Role
from compaction.tokens import TokenCounter, row_tokens
from sessions_app.samples.checkout import Checkout
from sessions_app.samples.clock import time_phase
from sessions_app.samples.fitting import DraftStep, fit_steps
from sessions_app.samples.placeholders import resolve
from sessions_app.samples.scene import Scene, scene_of
from sessions_app.samples.story import Phase, Step, Story, Turn
from sessions_app.samples.tools import draft_call
from sessions_app.samples.transcript import SampleRow, SampleSession, SampleTurn


def generate(story: Story, checkout: Checkout, counter: TokenCounter) -> SampleSession:
    """The session `story` tells, told with the files of `checkout`. Token totals hold for `counter`."""
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
    """The phase's turns, each as long as its share of what the phase has, counted up from its start."""
    day = datetime.fromtimestamp(story.started_at, UTC).date().isoformat()
    shares = share_tokens(phase)
    due, spent = 0.0, spent_tokens
    for number, (turn, share) in enumerate(zip(phase.turns, shares, strict=True), 1):
        due += share
        scene = scene_of(checkout, day, story.session_id, phase.name, number)
        filled = fill_turn(phase.name, turn, round(due) - spent, scene, counter)
        spent += filled.tokens
        yield filled


def share_tokens(phase: Phase, block_turns: int = 5) -> Iterator[float]:
    """Each turn's share of the phase. Weights count within blocks of five turns, and every turn of the phase stands
    for the same number of tokens on average: long turns and short ones alternate, long stretches are even."""
    usual = phase.tokens / len(phase.turns)
    for start in range(0, len(phase.turns), block_turns):
        block = phase.turns[start : start + block_turns]
        weights = sum(turn.weight for turn in block)
        yield from (usual * len(block) * turn.weight / weights for turn in block)


def fill_turn(phase: str, turn: Turn, target_tokens: int, scene: Scene, counter: TokenCounter) -> SampleTurn:
    request = plain_row(Role.USER, resolve(scene.checkout, turn.request), counter)
    steps = [draft_step(step, scene) for step in turn.steps]
    return SampleTurn(phase, (request, *fit_steps(steps, target_tokens - request.tokens, counter)))


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
