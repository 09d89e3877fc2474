"""Batch compaction: the whole middle becomes one summary row.

Runs when the context reaches its threshold, or by hand. `plan_batch` decides whether it may run now (cool-downs after
failures, a breaker when batches don't help) and what it covers; `settle_batch` turns the answer into an edit. A failed
batch changes no row. Only when the window is nearly full is a summary made without a model, marked as such (ENGINE 8).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from compaction.anchors import attach_anchors
from compaction.batch_guard import (
    BlockedBy,
    after_commit,
    after_failure,
    after_no_gain,
    after_nothing_to_cut,
    blocked_by,
)
from compaction.batch_prompt import batch_request
from compaction.batch_window import BatchWindow, batch_window, first_position
from compaction.budgets import summary_budget_tokens
from compaction.edits import Edit, NewRow
from compaction.markers import body_of, strip_frame, summary_message
from compaction.messages import Role, Row, RowKind
from compaction.passes import Nothing, PassContext, Settlement, settled
from compaction.records import Outcome, PassKind, PassRecord, Span
from compaction.redaction import redact
from compaction.replies import Unusable, UnusableReason, Usable, judge_reply, redact_reply
from compaction.sections import Section, parse_sections, render_sections
from compaction.state import CompactionState
from compaction.summarizer import Reply, SummaryRequest
from compaction.threshold import Window
from compaction.tokens import row_tokens
from compaction.transcript import Transcript
from compaction.wording import worded

# From here on a summary without a model is better than a request that is refused for its size (ENGINE 8.7).
CRITICAL_SHARE_OF_WINDOW: Final = 0.95
_TASK_CHARS: Final = 1_400
_NO_EDIT: Final = Edit()


class BatchReason(StrEnum):
    """Why no batch is made, or why one changed nothing."""

    BATCH_OFF = "batch_off"
    WINDOW_UNKNOWN = "window_unknown"
    BELOW_THRESHOLD = "below_threshold"
    NO_COMPRESSIBLE_WINDOW = "no_compressible_window"
    NOT_SMALLER = "not_smaller"


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """A batch to be made. request: None when the summarizer's window can't hold the question.

    is_critical: the window is nearly full, so the caller should have an extractive answer at hand (`settle_batch`).
    held_by: why the summarizer is not asked all the same; empty when it is.
    """

    context: PassContext
    state: CompactionState
    window: BatchWindow
    request: SummaryRequest | None
    earlier: str
    tokens_before: int
    rows_before: int
    is_critical: bool
    is_manual: bool
    now: float
    held_by: str = ""

    @property
    def question(self) -> SummaryRequest | None:
        """What to ask the summarizer; None when it has no room for it, or is not to be asked now."""
        return None if self.held_by else self.request


def plan_batch(
    transcript: Transcript,
    state: CompactionState,
    context: PassContext,
    *,
    now: float,
    is_manual: bool = False,
    focus: str = "",
) -> Nothing | Settlement | BatchPlan:
    """What a batch would do at `now` (epoch seconds). A settlement means that it may not or can't run, and why."""
    tokens = context.fixed_overhead_tokens + transcript.live_tokens
    reason = None if is_manual else no_need(context, tokens)
    if reason is not None:
        return Nothing(reason, state)
    is_critical = _is_critical(context, tokens)
    blocked = None if is_manual else blocked_by(state, tokens, now)
    if blocked is not None and not is_critical:
        return Settlement(_empty_record(transcript, state, context, Outcome.BLOCKED, blocked), state)
    zones = context.zones_of(transcript)
    window = batch_window(transcript, zones)
    if not window.covered:
        record = _empty_record(transcript, state, context, Outcome.ABORTED, BatchReason.NO_COMPRESSIBLE_WINDOW)
        return Settlement(replace(record, zones=window.zones), after_nothing_to_cut(state, tokens, now))
    earlier = _earlier_text(window.earlier, state)
    return BatchPlan(
        context=context,
        state=state,
        window=window,
        request=_request(window, earlier, context, focus),
        earlier=earlier,
        tokens_before=tokens,
        rows_before=transcript.live_rows,
        is_critical=is_critical,
        is_manual=is_manual,
        now=now,
        held_by=BlockedBy.COOLDOWN if blocked is BlockedBy.COOLDOWN else "",
    )


def no_need(context: PassContext, tokens: int) -> BatchReason | None:
    """Why no automatic batch is wanted at `tokens`; None when one is."""
    if not context.policy.runs_batch:
        return BatchReason.BATCH_OFF
    if context.threshold_tokens is None:
        return BatchReason.WINDOW_UNKNOWN
    return BatchReason.BELOW_THRESHOLD if tokens < context.threshold_tokens else None


def _is_critical(context: PassContext, tokens: int) -> bool:
    limit = context.context_limit_tokens
    return limit is not None and tokens >= limit * CRITICAL_SHARE_OF_WINDOW


def _earlier_text(rows: tuple[Row, ...], state: CompactionState) -> str:
    """The bodies of the live summaries, oldest first; of the rolling one the text the state holds."""
    bodies = []
    for row in rows:
        is_rolling = row.kind is RowKind.MICRO_SUMMARY and state.rolling_summary.strip()
        bodies.append(state.rolling_summary if is_rolling else body_of(row.message.text))
    return redact("\n\n".join(strip_frame(body) for body in bodies if body.strip())).text


def _request(window: BatchWindow, earlier: str, context: PassContext, focus: str) -> SummaryRequest | None:
    budget = summary_budget_tokens(context.policy, Window(context.context_limit_tokens), window.tokens)
    messages = [row.message for row in window.covered]
    return batch_request(earlier, messages, budget, context.counter, context.aux_window_tokens, focus)


def settle_batch(plan: BatchPlan, reply: Reply | None, last_resort: Reply | None = None) -> Settlement:
    """The end of `plan` given what came back; None when the summarizer was not asked for lack of room.

    last_resort: an extractive answer, used only if `reply` is unusable and the window is nearly full.
    """
    judged = _judge(plan, reply)
    if isinstance(judged, Usable):
        return _settle_text(plan, reply, judged.text, Outcome.COMPACTED)
    if plan.is_critical and last_resort is not None and plan.request is not None:
        fallback = judge_reply(last_resort, plan.request)
        if isinstance(fallback, Usable):
            return _settle_text(plan, last_resort, fallback.text, Outcome.FALLBACK, judged)
    state = after_failure(plan.state, judged.reason, plan.now)
    return _close(plan, reply, state, Outcome.ABORTED, judged.reason, judged.detail)


def _judge(plan: BatchPlan, reply: Reply | None) -> Usable | Unusable:
    if plan.held_by:
        return Unusable(plan.held_by, worded("the summarizer failed a short while ago and was not asked again"))
    if plan.request is None or reply is None:
        detail = worded("the summarizer's window of {} tokens can't hold the question", plan.context.aux_window_tokens)
        return Unusable(UnusableReason.AUX_WINDOW_TOO_SMALL, detail)
    return judge_reply(reply, plan.request)


def _settle_text(
    plan: BatchPlan, reply: Reply | None, text: str, outcome: Outcome, failure: Unusable | None = None
) -> Settlement:
    body, notes = _structured(plan, text)
    body = redact(body).text
    message = summary_message(body)
    row = NewRow(RowKind.BATCH_SUMMARY, first_position(plan.window), message, row_tokens(message, plan.context.counter))
    if row.tokens >= plan.window.tokens:
        detail = worded("{} tokens would become {}", plan.window.tokens, row.tokens)
        state = after_no_gain(plan.state, plan.tokens_before, plan.now)
        return _close(plan, reply, state, Outcome.NO_GAIN, BatchReason.NOT_SMALLER, detail)
    edit = Edit(
        tuple(covered.id for covered in plan.window.covered), tuple(old.id for old in plan.window.earlier), (row,)
    )
    tokens_after = plan.tokens_before - plan.window.tokens + row.tokens
    state = after_commit(plan.state, plan.tokens_before, tokens_after, plan.context.threshold_tokens, plan.now)
    reason, why = ("", "") if failure is None else (failure.reason, failure.detail)
    return _close(plan, reply, state, outcome, reason, why, edit=edit, summary=body, notes=notes)


def _structured(plan: BatchPlan, text: str) -> tuple[str, tuple[str, ...]]:
    """The answer in our sections with its anchors, and notes on what had to be done to it."""
    parsed = parse_sections(text)
    entries: dict[Section, list[str]] = {
        section: list(parsed.of(section)) for section in Section if section is not Section.ANCHORS
    }
    if parsed.preface:
        entries[Section.STATE].insert(0, parsed.preface)
    unfinished = _unfinished_request(plan.window.covered)
    if unfinished:
        entries[Section.TASK] = [unfinished]
    users = sum(row.is_user for row in plan.window.covered)
    notes = [worded("user rows archived: {}", users)]
    notes += [worded("heading folded in: {}", name) for name in parsed.folded]
    if parsed.missing:
        notes.append(worded("headings added: {}", ", ".join(parsed.missing)))
    limit = plan.context.policy.anchor_index_tokens_batch
    messages = plan.request.messages if plan.request is not None else ()
    body = attach_anchors(render_sections(entries), plan.earlier, messages, limit, plan.context.counter)
    return body, tuple(notes)


def _unfinished_request(covered: tuple[Row, ...]) -> str:
    """The newest request among the covered rows as it was put, unless an answer to it is covered as well."""
    for row in reversed(covered):
        if row.role is Role.ASSISTANT and row.message.has_content and not row.message.tool_calls:
            return ""
        if row.opens_turn and row.message.text.strip():
            # Redacted before it is cut: half a secret would not be known for one.
            return redact(" ".join(row.message.text.split())).text[:_TASK_CHARS]
    return ""


def _empty_record(
    transcript: Transcript, state: CompactionState, context: PassContext, outcome: Outcome, reason: str
) -> PassRecord:
    """The record of a batch that did not get as far as a plan."""
    tokens = context.fixed_overhead_tokens + transcript.live_tokens
    return replace(context.blank_record(state, PassKind.BATCH, outcome, tokens, transcript.live_rows), reason=reason)


def _close(
    plan: BatchPlan,
    reply: Reply | None,
    state: CompactionState,
    outcome: Outcome,
    reason: str = "",
    detail: str = "",
    *,
    edit: Edit = _NO_EDIT,
    summary: str = "",
    notes: tuple[str, ...] = (),
) -> Settlement:
    """The record of the pass and the state with its totals."""
    covered = plan.window.covered
    record = replace(
        plan.context.blank_record(state, PassKind.BATCH, outcome, plan.tokens_before, plan.rows_before),
        reason=reason,
        detail=detail,
        notes=(*(plan.request.notes if plan.request is not None else ()), *notes),
        zones=plan.window.zones,
        exchanges=(Span(covered[0].key, covered[-1].key, len(covered), sum(row.tokens for row in covered)),),
        cursor_before=plan.state.cursor,
        request=plan.request,
        redactions=0 if plan.request is None else plan.request.redactions,
        reply=None if reply is None else redact_reply(reply),
        summary_before=plan.earlier,
        summary_after=summary or plan.earlier,
        duration_ms=None if reply is None else reply.duration_ms,
    )
    return settled(record.with_edit(edit, plan.window.tokens, _prefix_tokens(plan)), state)


def _prefix_tokens(plan: BatchPlan) -> int:
    return plan.context.fixed_overhead_tokens + plan.window.zones.head_tokens
