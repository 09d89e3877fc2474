"""Micro passes: after a turn, fold the oldest exchange into the rolling summary, or rewrite that summary.

`plan_micro` reads the few rows it needs and says what to do; the summarizer is asked by whoever called; `settle_micro`
turns the reply into an edit, a new state and a record. Both are pure. An unusable reply yields an edit that changes
nothing, so a pass can fail at any point and the transcript is as it was (ENGINE 5 to 7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import Final

from compaction.anchors import attach_anchors
from compaction.budgets import rolling_output_tokens, rolling_target_tokens
from compaction.edits import Edit, NewRow
from compaction.exchanges import Exchange, exchanges_from, resolve_cursor
from compaction.markers import body_of, strip_frame, summary_message
from compaction.messages import Row, RowKey, RowKind
from compaction.passes import Nothing, PassContext, Settlement, settled
from compaction.policy import CompactionPolicy, MicroWhen
from compaction.prompts import SummaryLimits, absorb_request, defrag_request
from compaction.records import Outcome, PassKind, Span
from compaction.redaction import redact
from compaction.replies import Unusable, UnusableReason, judge_reply, redact_reply
from compaction.state import CompactionState
from compaction.summarizer import Reply, SummaryRequest
from compaction.tokens import TokenCounter, row_tokens
from compaction.transcript import Transcript
from compaction.wording import worded
from compaction.zones import Zones

MOST_FAILURES: Final = 3
# After a defrag that gained nothing, absorption goes on until the summary has grown this much or this often (ENGINE 6).
DEFRAG_HOLD_GROWTH: Final = 1.25
DEFRAG_HOLD_PASSES: Final = 5
# A defrag must make room for several passes, so it aims lower than an absorbing pass.
DEFRAG_SHARE_OF_TARGET: Final = 0.67
# A reply cut off for its length asks for a defrag when the summary fills more than this share of its threshold.
DEFRAG_ON_LENGTH_SHARE: Final = 0.5
_NO_EDIT: Final = Edit()


class NothingReason(StrEnum):
    """Why a turn ends without a pass."""

    MICRO_OFF = "micro_off"
    TURN_NOT_FINISHED = "turn_not_finished"
    WAITS_FOR_CADENCE = "waits_for_cadence"
    CACHE_WARM = "cache_warm"
    CACHE_UNKNOWN = "cache_unknown"
    BELOW_TAIL_BUDGET = "below_tail_budget"
    NEWEST_TURN_EXCEEDS_TAIL = "newest_turn_exceeds_tail"
    NO_COMPLETE_EXCHANGE = "no_complete_exchange"
    BELOW_MIN_RECLAIM = "below_min_reclaim"


@dataclass(frozen=True, slots=True)
class MicroPlan:
    """A pass to be made: absorb `exchanges`, or with none of them rewrite the rolling summary (a defrag).

    request: what to ask; None when the summarizer's window can't hold the question. superseded: the live micro
    summary, if there is one. tokens_before counts the fixed overhead and all live rows.
    """

    kind: PassKind
    context: PassContext
    state: CompactionState
    zones: Zones
    cursor: RowKey
    exchanges: tuple[Exchange, ...]
    request: SummaryRequest | None
    redactions: int
    earlier: str
    superseded: tuple[Row, ...]
    tokens_before: int
    rows_before: int


def plan_micro(
    transcript: Transcript,
    state: CompactionState,
    context: PassContext,
    *,
    turn_finished: bool = True,
    is_after_turn: bool = True,
) -> Nothing | MicroPlan:
    """What a micro pass would do after a turn. Reads the head, the tail, and the exchanges it absorbs; no more.

    is_after_turn: off before a request, which the cadence does not count. A pass that is due and waits for the cache
    to expire stays due.
    """
    if not context.policy.runs_micro:
        return Nothing(NothingReason.MICRO_OFF, state)
    if not turn_finished:
        return Nothing(NothingReason.TURN_NOT_FINISHED, state)
    turns = state.turns_since_pass + is_after_turn
    if turns < context.policy.micro_compact_every_n_turns:
        return Nothing(NothingReason.WAITS_FOR_CADENCE, replace(state, turns_since_pass=turns))
    if context.policy.micro_compact_when is MicroWhen.CACHE_COLD and not context.is_cache_cold:
        is_unknown = context.is_cache_cold is None
        reason = NothingReason.CACHE_UNKNOWN if is_unknown else NothingReason.CACHE_WARM
        return Nothing(reason, replace(state, turns_since_pass=turns))
    return _plan_due(transcript, replace(state, turns_since_pass=0), context)


def _plan_due(transcript: Transcript, state: CompactionState, context: PassContext) -> Nothing | MicroPlan:
    zones = context.zones_of(transcript)
    if zones.is_tail_cut:
        return Nothing(NothingReason.NEWEST_TURN_EXCEEDS_TAIL, state, zones)
    if not zones.has_middle:
        return Nothing(NothingReason.BELOW_TAIL_BUDGET, state, zones)
    return _plan_in_middle(transcript, state, context, zones)


def _plan_in_middle(
    transcript: Transcript, state: CompactionState, context: PassContext, zones: Zones
) -> Nothing | MicroPlan:
    cursor = resolve_cursor(transcript, state.cursor, zones.middle_start, zones.tail_start)
    exchanges = _choose(exchanges_from(transcript, cursor, zones.tail_start), context.policy)
    if not exchanges:
        return Nothing(NothingReason.NO_COMPLETE_EXCHANGE, state, zones)
    superseded = tuple(row for row in transcript.summaries() if row.kind is RowKind.MICRO_SUMMARY)
    state = _with_recovered_summary(state, superseded, context.counter)
    if superseded and _is_defrag_due(state, context.policy):
        return _plan(PassKind.DEFRAG, transcript, state, context, zones, cursor, (), superseded)
    if sum(exchange.tokens for exchange in exchanges) < context.policy.micro_compact_min_reclaim_tokens:
        return Nothing(NothingReason.BELOW_MIN_RECLAIM, state, zones)
    return _plan(PassKind.MICRO, transcript, state, context, zones, cursor, exchanges, superseded)


def _choose(exchanges: Iterator[Exchange], policy: CompactionPolicy) -> tuple[Exchange, ...]:
    """The oldest exchanges one pass takes: all of them under the reclaim gate, else up to the set number."""
    if policy.micro_compact_min_reclaim_tokens > 0:
        return tuple(exchanges)
    return tuple(islice(exchanges, policy.micro_compact_max_exchanges))


def _with_recovered_summary(
    state: CompactionState, superseded: tuple[Row, ...], counter: TokenCounter
) -> CompactionState:
    """The state with the text of the live summary row where the state itself has lost it."""
    if state.rolling_summary.strip() or not superseded:
        return state
    body = body_of(superseded[-1].message.text)
    return replace(state, rolling_summary=body, rolling_summary_tokens=counter.count(body))


def _is_defrag_due(state: CompactionState, policy: CompactionPolicy) -> bool:
    if state.defrag_requested:
        return True
    if state.rolling_summary_tokens < policy.micro_compact_defrag_threshold_tokens:
        return False
    if state.defrag_hold_tokens is None or state.defrag_hold_passes >= DEFRAG_HOLD_PASSES:
        return True
    return state.rolling_summary_tokens >= state.defrag_hold_tokens * DEFRAG_HOLD_GROWTH


def _plan(
    kind: PassKind,
    transcript: Transcript,
    state: CompactionState,
    context: PassContext,
    zones: Zones,
    cursor: RowKey,
    exchanges: tuple[Exchange, ...],
    superseded: tuple[Row, ...],
) -> MicroPlan:
    request = _request(kind, state, context, exchanges)
    return MicroPlan(
        kind=kind,
        context=context,
        state=state,
        zones=zones,
        cursor=cursor,
        exchanges=exchanges,
        request=request,
        redactions=0 if request is None else request.redactions,
        earlier=state.rolling_summary,
        superseded=superseded,
        tokens_before=context.fixed_overhead_tokens + transcript.live_tokens,
        rows_before=transcript.live_rows,
    )


def _request(
    kind: PassKind, state: CompactionState, context: PassContext, exchanges: tuple[Exchange, ...]
) -> SummaryRequest | None:
    policy = context.policy
    limits = _limits(kind, policy)
    if kind is PassKind.DEFRAG:
        return defrag_request(state.rolling_summary, limits, context.counter, context.aux_window_tokens)
    messages = [row.message for exchange in exchanges for row in exchange.rows]
    return absorb_request(state.rolling_summary, messages, limits, context.counter, context.aux_window_tokens)


def _limits(kind: PassKind, policy: CompactionPolicy) -> SummaryLimits:
    target_tokens = rolling_target_tokens(policy)
    if kind is PassKind.DEFRAG:
        target_tokens = max(1, int(target_tokens * DEFRAG_SHARE_OF_TARGET))
    return SummaryLimits(target_tokens, rolling_output_tokens(policy))


def settle_micro(plan: MicroPlan, reply: Reply | None) -> Settlement:
    """The end of `plan` given what came back; None when the summarizer was not asked for lack of room.

    Whatever `reply` holds, the result is consistent: either the edit and the state of a committed pass, or an empty
    edit and a state that counts the failure.
    """
    if plan.request is None or reply is None:
        return _settle_unasked(plan)
    judged = judge_reply(reply, plan.request)
    if isinstance(judged, Unusable):
        return _settle_failure(plan, reply, judged.reason, judged.detail)
    text = strip_frame(judged.text)
    if plan.context.counter.count(text) > (plan.request.max_output_tokens or 0):
        return _settle_failure(plan, reply, UnusableReason.LENGTH, "the answer is longer than the limit it was given")
    policy, messages = plan.context.policy, plan.request.messages
    text = attach_anchors(text, plan.earlier, messages, policy.anchor_index_tokens_micro, plan.context.counter)
    return _settle_text(plan, reply, redact(text).text)


def _settle_text(plan: MicroPlan, reply: Reply, text: str) -> Settlement:
    summary_tokens = plan.context.counter.count(text)
    if plan.kind is PassKind.DEFRAG and summary_tokens >= plan.state.rolling_summary_tokens:
        state = replace(
            plan.state,
            defrag_hold_tokens=plan.state.rolling_summary_tokens,
            defrag_hold_passes=0,
            defrag_failures=0,
            defrag_requested=False,
        )
        detail = worded("{} tokens before, {} after", plan.state.rolling_summary_tokens, summary_tokens)
        return _close(plan, reply, state, Outcome.DEFRAG_NO_GAIN, "not_smaller", detail)
    return _commit(plan, reply, text, summary_tokens)


def _commit(plan: MicroPlan, reply: Reply, text: str, summary_tokens: int) -> Settlement:
    edit = _edit(plan, text)
    state = replace(
        plan.state,
        cursor=plan.exchanges[-1].end if plan.exchanges else plan.cursor,
        rolling_summary=text,
        rolling_summary_tokens=summary_tokens,
        failing_exchange=None,
        exchange_failures=0,
        last_error="",
    )
    if plan.kind is PassKind.DEFRAG:
        state = replace(state, defrag_hold_tokens=None, defrag_hold_passes=0, defrag_failures=0, defrag_requested=False)
        return _close(plan, reply, state, Outcome.DEFRAG, edit=edit)
    if state.defrag_hold_tokens is not None:
        state = replace(state, defrag_hold_passes=state.defrag_hold_passes + 1)
    return _close(plan, reply, state, Outcome.ABSORBED, edit=edit)


def _edit(plan: MicroPlan, text: str) -> Edit:
    """The new summary stands where the newest absorbed exchange began: user rows before it were answered in it, so
    none of them comes to stand behind the summary as if it were still open."""
    message = summary_message(text)
    position = plan.exchanges[-1].first.position if plan.exchanges else plan.superseded[-1].position
    row = NewRow(RowKind.MICRO_SUMMARY, position, message, row_tokens(message, plan.context.counter))
    absorbed = tuple(row.id for exchange in plan.exchanges for row in exchange.rows)
    return Edit(absorbed, tuple(row.id for row in plan.superseded), (row,))


def _settle_unasked(plan: MicroPlan) -> Settlement:
    detail = worded("the summarizer's window of {} tokens can't hold the question", plan.context.aux_window_tokens)
    if plan.kind is PassKind.DEFRAG:
        return _settle_failure(plan, None, UnusableReason.AUX_WINDOW_TOO_SMALL, detail)
    state = replace(plan.state, cursor=plan.exchanges[-1].end, failing_exchange=None, exchange_failures=0)
    return _close(plan, None, state, Outcome.EXCHANGE_SKIPPED, UnusableReason.AUX_WINDOW_TOO_SMALL, detail)


def _settle_failure(plan: MicroPlan, reply: Reply | None, reason: UnusableReason | str, detail: str) -> Settlement:
    state = replace(plan.state, last_error=str(reason), defrag_requested=_wants_defrag(plan, reason))
    if plan.kind is PassKind.DEFRAG:
        return _close(plan, reply, _after_failed_defrag(state), Outcome.DEFRAG_FAILED, reason, detail)
    first = plan.exchanges[0].first
    failures = state.exchange_failures + 1 if state.failing_exchange == first else 1
    if failures < MOST_FAILURES:
        state = replace(state, failing_exchange=first, exchange_failures=failures)
        return _close(plan, reply, state, Outcome.SUMMARIZE_FAILED, reason, detail)
    state = replace(state, cursor=plan.exchanges[0].end, failing_exchange=None, exchange_failures=0)
    return _close(plan, reply, state, Outcome.EXCHANGE_SKIPPED, reason, detail)


def _after_failed_defrag(state: CompactionState) -> CompactionState:
    """A failed defrag is tried again, but not for ever: after three in a row absorption goes on, as if it had gained
    nothing, because a summarizer that can't rewrite must not keep the middle from being absorbed."""
    failures = state.defrag_failures + 1
    if failures < MOST_FAILURES:
        return replace(state, defrag_failures=failures)
    return replace(state, defrag_failures=0, defrag_hold_tokens=state.rolling_summary_tokens, defrag_hold_passes=0)


def _wants_defrag(plan: MicroPlan, reason: UnusableReason | str) -> bool:
    """Whether a cut-off reply shows that the running summary has grown too long to be merged into."""
    threshold_tokens = plan.context.policy.micro_compact_defrag_threshold_tokens
    is_long = plan.state.rolling_summary_tokens > threshold_tokens * DEFRAG_ON_LENGTH_SHARE
    return plan.kind is PassKind.MICRO and reason == UnusableReason.LENGTH and is_long and bool(plan.superseded)


def _close(
    plan: MicroPlan,
    reply: Reply | None,
    state: CompactionState,
    outcome: Outcome,
    reason: str = "",
    detail: str = "",
    *,
    edit: Edit = _NO_EDIT,
) -> Settlement:
    """The record of the pass and the state with its totals."""
    removed_tokens = _exchange_tokens(plan) + sum(row.tokens for row in plan.superseded)
    record = replace(
        plan.context.blank_record(state, plan.kind, outcome, plan.tokens_before, plan.rows_before),
        reason=str(reason),
        detail=detail,
        zones=plan.zones,
        exchanges=tuple(Span(e.first, e.last, len(e.rows), e.tokens) for e in plan.exchanges),
        cursor_before=plan.cursor,
        cursor_after=state.cursor if state.cursor is not None else plan.cursor,
        request=plan.request,
        redactions=plan.redactions,
        reply=None if reply is None else redact_reply(reply),
        summary_before=redact(plan.earlier).text,
        exchange_tokens=_exchange_tokens(plan) if plan.kind is PassKind.MICRO else None,
        duration_ms=None if reply is None else reply.duration_ms,
    )
    return settled(record.with_edit(edit, removed_tokens, _prefix_tokens(plan)), state)


def _exchange_tokens(plan: MicroPlan) -> int:
    return sum(exchange.tokens for exchange in plan.exchanges)


def _prefix_tokens(plan: MicroPlan) -> int:
    """Tokens in front of the first changed row: what a provider's cache can still serve (a lower bound:
    user rows between the head and the summary are left out)."""
    return plan.context.fixed_overhead_tokens + plan.zones.head_tokens
