"""What keeps batch compactions from running in circles: cool-downs, the breaker, and a limit on their frequency.

All of it is state that storage keeps and pages show, with the time at which it is lifted. Times are epoch seconds and
come from the caller (ENGINE 8.7, 8.8).
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Final

from compaction.state import CompactionState

COOLDOWN_SECONDS: Final = (60, 300, 900)
STRIKES_TO_PAUSE: Final = 2
PAUSE_SECONDS: Final = 300
# A paused breaker lets one probe through when the context has grown by this much, whatever the time.
PROBE_GROWTH: Final = 1.10
# A batch that frees less than this share has not helped.
LEAST_FREED_SHARE: Final = 0.10
# Even batches that help are too many when this many are committed within the span: something refills the context.
MOST_COMMITS: Final = 5
COMMITS_SPAN_SECONDS: Final = 600


class BlockedBy(StrEnum):
    """What holds automatic batches back. Structural: the last one found nothing it could cut."""

    COOLDOWN = "cooldown"
    INEFFECTIVE = "ineffective"
    STRUCTURAL = "structural_backoff"
    TOO_FREQUENT = "too_frequent"


def blocked_by(state: CompactionState, tokens: int, now: float) -> BlockedBy | None:
    """What holds an automatic batch back at `now`; None when it may run."""
    if state.cooldown_until is not None and now < state.cooldown_until:
        return BlockedBy.COOLDOWN
    if state.paused_until is not None and now < state.paused_until:
        has_grown = state.paused_at_tokens is not None and tokens >= state.paused_at_tokens * PROBE_GROWTH
        is_ineffective = state.batch_strikes >= STRIKES_TO_PAUSE
        return None if has_grown else BlockedBy.INEFFECTIVE if is_ineffective else BlockedBy.STRUCTURAL
    return BlockedBy.TOO_FREQUENT if _is_too_frequent(state, now) else None


def _is_too_frequent(state: CompactionState, now: float) -> bool:
    recent = [at for at in state.batch_committed_at if now - at < COMMITS_SPAN_SECONDS]
    return len(recent) >= MOST_COMMITS


def after_failure(state: CompactionState, reason: str, now: float) -> CompactionState:
    """The state after a call that failed: the next try waits, longer each time."""
    wait = COOLDOWN_SECONDS[min(state.batch_failures, len(COOLDOWN_SECONDS) - 1)]
    until = max(now + wait, state.cooldown_until or 0.0)
    return replace(state, batch_failures=state.batch_failures + 1, cooldown_until=until, last_error=reason)


def after_nothing_to_cut(state: CompactionState, tokens: int, now: float) -> CompactionState:
    """The state after a batch that found nothing it could cut: no strike, but no new try until something changed."""
    return replace(state, paused_until=now + PAUSE_SECONDS, paused_at_tokens=tokens)


def after_no_gain(state: CompactionState, tokens: int, now: float) -> CompactionState:
    """The state after a summary that was not smaller than what it replaces: a strike."""
    return _with_strike(replace(state, batch_failures=0, cooldown_until=None), tokens, now)


def after_commit(
    state: CompactionState, tokens_before: int, tokens_after: int, threshold_tokens: int | None, now: float
) -> CompactionState:
    """The state after a committed batch: the rolling summary and its cursor are gone, the totals stay."""
    committed = (*state.batch_committed_at, now)[-MOST_COMMITS:]
    state = CompactionState(
        turns_since_pass=state.turns_since_pass,
        passes_total=state.passes_total,
        tokens_saved_total=state.tokens_saved_total,
        batch_strikes=state.batch_strikes,
        batch_committed_at=committed,
    )
    is_still_full = threshold_tokens is not None and tokens_after >= threshold_tokens
    has_helped = not is_still_full and tokens_before - tokens_after >= tokens_before * LEAST_FREED_SHARE
    return replace(state, batch_strikes=0) if has_helped else _with_strike(state, tokens_after, now)


def _with_strike(state: CompactionState, tokens: int, now: float) -> CompactionState:
    strikes = state.batch_strikes + 1
    if strikes < STRIKES_TO_PAUSE:
        return replace(state, batch_strikes=strikes)
    return replace(state, batch_strikes=strikes, paused_until=now + PAUSE_SECONDS, paused_at_tokens=tokens)
