"""How many tokens each part of a compaction may take: tail, head, batch summary, rolling summary.

Pure arithmetic on policy, threshold and window. Where the window is unknown, zones are still needed (a micro pass by
hand, a preview): they are worked out as if the threshold were its usual minimum, and no share of the window applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from compaction.policy import CompactionPolicy, TailMode
from compaction.threshold import Threshold, Window

# Lean tail: a share of the window within fixed bounds; no tail takes more than a fifth of it (ENGINE 3.2).
_LEAN_SHARE: Final = 0.025
_LEAN_LOWEST_TOKENS: Final = 10_000
_LEAN_HIGHEST_TOKENS: Final = 25_000
_LARGEST_TAIL_SHARE: Final = 0.20
_CEILING_FACTOR: Final = 1.5
_HEAD_SHARE: Final = 0.25
# Batch summary: a fifth of what it replaces, never so short that its structure is lost (ENGINE 8.5).
_SUMMARY_SHARE: Final = 0.20
_SUMMARY_WINDOW_SHARE: Final = 0.05
_SUMMARY_LOWEST_TOKENS: Final = 2_000
# The rolling summary aims below its defrag threshold and may exceed it a little, or no defrag would ever be reached
# and long answers would be cut off for ever (ENGINE 5.3).
_ROLLING_TARGET_SHARE: Final = 0.75
_ROLLING_OUTPUT_FACTOR: Final = 1.25


@dataclass(frozen=True, slots=True)
class TailBudget:
    """Tokens the tail may take. The ceiling is only for completing the turn or tool group in which the cut lands."""

    budget_tokens: int
    ceiling_tokens: int


def tail_budget(policy: CompactionPolicy, threshold: Threshold, window: Window) -> TailBudget:
    """The tail's budget and soft ceiling in tokens, at least 1."""
    context = window.context_tokens
    if policy.tail_mode is TailMode.LEAN:
        share = 0 if context is None else int(context * _LEAN_SHARE)
        wanted = min(max(share, _LEAN_LOWEST_TOKENS), _LEAN_HIGHEST_TOKENS)
    else:
        wanted = int(_threshold_or_usual(policy, threshold) * policy.target_ratio)
    largest = wanted * 2 if context is None else int(context * _LARGEST_TAIL_SHARE)
    budget = max(1, min(wanted, largest))
    return TailBudget(budget, max(budget, min(int(budget * _CEILING_FACTOR), largest)))


def head_limit_tokens(policy: CompactionPolicy, threshold: Threshold) -> int:
    """Up to how many tokens the head is extended to complete its turn."""
    return int(_threshold_or_usual(policy, threshold) * _HEAD_SHARE)


def longest_summary_tokens(policy: CompactionPolicy, window: Window) -> int:
    """The most a batch summary is ever asked to be: the ceiling, and a twentieth of the window."""
    if window.context_tokens is None:
        return policy.summary_tokens_ceiling
    return min(int(window.context_tokens * _SUMMARY_WINDOW_SHARE), policy.summary_tokens_ceiling)


def summary_budget_tokens(policy: CompactionPolicy, window: Window, summarised_tokens: int) -> int:
    """The size asked of a batch summary of `summarised_tokens`, at least 1.

    The floor beats the caps, because a shorter summary loses its structure, but never exceeds half of what is replaced.
    """
    wanted = min(int(summarised_tokens * _SUMMARY_SHARE), longest_summary_tokens(policy, window))
    return max(1, min(max(wanted, _SUMMARY_LOWEST_TOKENS), summarised_tokens // 2))


def rolling_target_tokens(policy: CompactionPolicy) -> int:
    """The size asked of the rolling summary."""
    return max(1, int(policy.micro_compact_defrag_threshold_tokens * _ROLLING_TARGET_SHARE))


def rolling_output_tokens(policy: CompactionPolicy) -> int:
    """Output limit of the call that writes the rolling summary."""
    wanted = int(policy.micro_compact_defrag_threshold_tokens * _ROLLING_OUTPUT_FACTOR)
    return max(1, min(wanted, policy.summary_tokens_ceiling))


def _threshold_or_usual(policy: CompactionPolicy, threshold: Threshold) -> int:
    return policy.threshold_minimum_tokens if threshold.tokens is None else threshold.tokens
