"""The kinds of pass, each as one function: from the rows as they are to a settled pass, or to nothing.

The engine plans and settles; in between the summarizer is asked. Must not store anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from compaction.batch import BatchPlan, plan_batch, settle_batch
from compaction.extractive import ExtractiveSummarizer
from compaction.micro import plan_micro, settle_micro
from compaction.passes import Nothing, PassContext, Settlement
from compaction.policy import CompactionPolicy, MicroWhen
from compaction.prune import plan_prune
from compaction.records import Outcome
from sessions_app import clock
from sessions_app.models import TurnStep
from sessions_app.passes.asking import Asking
from sessions_app.passes.passing import Passing
from sessions_app.stored_transcript import StoredTranscript

Decider = Callable[[StoredTranscript, PassContext, Passing, Asking], Nothing | Settlement]


def policy_by_hand(policy: CompactionPolicy) -> CompactionPolicy:
    """`policy` without what makes automatic micro passes wait: a person asked for one now."""
    return replace(
        policy,
        enabled=True,
        micro_compact=True,
        micro_compact_every_n_turns=1,
        micro_compact_min_reclaim_tokens=0,
        micro_compact_when=MicroWhen.EVERY_TURN,
    )


def decide_micro(
    transcript: StoredTranscript, context: PassContext, passing: Passing, asking: Asking
) -> Nothing | Settlement:
    """A micro pass or a defrag. After a turn that was interrupted, or did not come to its answer, there is none."""
    if passing.is_manual:
        context = replace(context, policy=policy_by_hand(context.policy))
    is_finished = passing.turn is None or (passing.turn.is_finished and not passing.turn.interrupted)
    plan = plan_micro(
        transcript,
        transcript.state,
        context,
        turn_finished=is_finished,
        is_after_turn=not passing.is_before_request,
    )
    return plan if isinstance(plan, Nothing) else settle_micro(plan, asking.ask(plan.request))


def decide_batch(
    transcript: StoredTranscript, context: PassContext, passing: Passing, asking: Asking
) -> Nothing | Settlement:
    """A batch: over the threshold, or by hand with a focus. When the window is nearly full and the summarizer fails,
    the extractive one is asked as a last resort."""
    plan = _planned(transcript, context, passing)
    if not isinstance(plan, BatchPlan):
        return plan
    reply = asking.ask(plan.question)
    # Cool-downs run from the failure, not from the time the question was put.
    plan = replace(plan, now=clock.now().timestamp())
    settlement = settle_batch(plan, reply)
    if not plan.is_critical or settlement.record.outcome is not Outcome.ABORTED:
        return settlement
    if plan.request is None:
        # The summarizer's window can't hold the question; the extractive one has no window.
        unbounded = _planned(transcript, replace(context, aux_window_tokens=None), passing)
        plan = replace(plan, request=unbounded.request if isinstance(unbounded, BatchPlan) else None)
    return settle_batch(plan, reply, asking.ask(plan.request, ExtractiveSummarizer(context.counter)))


def _planned(transcript: StoredTranscript, context: PassContext, passing: Passing) -> Nothing | Settlement | BatchPlan:
    return plan_batch(
        transcript,
        transcript.state,
        context,
        now=clock.now().timestamp(),
        is_manual=passing.is_manual,
        focus=passing.focus,
    )


def decide_prune(
    transcript: StoredTranscript, context: PassContext, passing: Passing, asking: Asking
) -> Nothing | Settlement:
    """A proactive prune, as the settings say; nobody is asked."""
    return plan_prune(transcript, transcript.state, context)


DECIDERS: Final[dict[TurnStep, Decider]] = {
    TurnStep.MICRO: decide_micro,
    TurnStep.BATCH: decide_batch,
    TurnStep.PRUNE: decide_prune,
}
