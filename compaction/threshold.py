"""When a batch compaction starts: the effective threshold of a window under a policy, and where it comes from.

The written ratio is only the beginning: a floor raises it on small windows, a minimum guards the smallest, a cap or a
small summarizer lowers it. Each step that changed something is kept, so a page can show what was asked for, what is in
effect and why. Nothing here looks a window up: it is given, with its source, or it is unknown and stays unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from compaction.policy import CompactionPolicy
from compaction.wording import worded

# Below this window half of it is little room: the floor raises the ratio (ENGINE 2.1).
SMALL_WINDOW_TOKENS: Final = 512_000
SMALL_WINDOW_RATIO: Final = 0.75
# No rule may put the threshold nearer to the end of the input window than this (ENGINE 2.1).
LARGEST_SHARE: Final = 0.85


class WindowSource(StrEnum):
    """Who said how large a window is, strongest first."""

    SETTING = "setting"
    MODELS_ENDPOINT = "models endpoint"
    PRICE_LIST = "price list"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Window:
    """A model's context window in tokens, None when unknown, and the part of it that is kept for the answer."""

    context_tokens: int | None = None
    max_output_tokens: int = 0
    source: WindowSource = WindowSource.UNKNOWN

    @property
    def input_tokens(self) -> int | None:
        """What is left for input. A reservation that leaves nothing, or below zero, can't be meant and is ignored."""
        if self.context_tokens is None:
            return None
        left = self.context_tokens - self.max_output_tokens
        return left if 0 < left <= self.context_tokens else self.context_tokens


class ThresholdSource(StrEnum):
    """The rule that decided the effective value."""

    DEFAULT = "default"
    PROJECT = "project"
    MODEL_OVERRIDE = "model override"
    FLOOR = "floor"
    CAP = "cap"
    AUXILIARY_WINDOW = "auxiliary window"
    UNKNOWN_WINDOW = "unknown window"


class ThresholdStep(NamedTuple):
    """One rule that changed the value: what it says, for people, and the tokens after it."""

    what: str
    value: int


@dataclass(frozen=True, slots=True)
class Threshold:
    """The effective threshold.

    tokens: None when the window is unknown: then occupancy is unknown and no automatic batch runs.
    source: the rule that had the last word. steps: every rule that changed the value, in order.
    ratio: the share of the input window that the rules on ratios gave, before minimum, cap and summarizer.
    refusal: why settings with this result can't be saved; empty when they can.
    """

    tokens: int | None
    source: ThresholdSource
    steps: tuple[ThresholdStep, ...]
    ratio: float
    refusal: str = ""


def effective_threshold(
    policy: CompactionPolicy,
    window: Window,
    *,
    model: str | None = None,
    provider: str | None = None,
    aux_window_tokens: int | None = None,
    fixed_overhead_tokens: int = 0,
) -> Threshold:
    """The threshold of `window` under `policy`, in tokens, with its source.

    model, provider: of the main model, for `model_thresholds`. aux_window_tokens: what a catalogue says about the
    summarizer; a window set in the policy wins over it. fixed_overhead_tokens: system prompt and tool schemas, which
    no compaction can shorten.
    """
    ratio, source = _written_ratio(policy, model, provider)
    input_tokens = window.input_tokens
    if input_tokens is None or window.context_tokens is None:
        return Threshold(None, ThresholdSource.UNKNOWN_WINDOW, (), ratio)
    trail = _Trail(int(input_tokens * ratio), source, _share_of_window(ratio, input_tokens))
    is_raised = policy.threshold_floor and window.context_tokens < SMALL_WINDOW_TOKENS and ratio < SMALL_WINDOW_RATIO
    if is_raised:
        ratio = SMALL_WINDOW_RATIO
        what = worded("{}, because the window is under {:,}", _percent(ratio), SMALL_WINDOW_TOKENS)
        trail.set(int(input_tokens * ratio), ThresholdSource.FLOOR, what)
    _apply_minimum(trail, policy, input_tokens)
    _apply_caps(trail, policy, input_tokens, policy.auxiliary.window_tokens or aux_window_tokens)
    refusal = _refusal(trail.tokens, fixed_overhead_tokens)
    return Threshold(trail.tokens, trail.source, tuple(trail.steps), ratio, refusal)


def occupancy_pct(live_tokens: int, threshold_tokens: int | None, fixed_overhead_tokens: int = 0) -> float | None:
    """How full the context is, in percent of the threshold, one decimal; None when the threshold is unknown."""
    if not threshold_tokens:
        return None
    return round((fixed_overhead_tokens + live_tokens) / threshold_tokens * 100, 1)


class _Trail:
    """A value on its way through the rules, with the last rule that changed it."""

    def __init__(self, tokens: int, source: ThresholdSource, what: str) -> None:
        self.tokens, self.source = tokens, source
        self.steps = [ThresholdStep(what, tokens)]

    def set(self, tokens: int, source: ThresholdSource, what: str) -> None:
        self.tokens, self.source = tokens, source
        self.steps.append(ThresholdStep(what, tokens))


def _written_ratio(
    policy: CompactionPolicy, model: str | None, provider: str | None
) -> tuple[float, ThresholdSource]:
    override = _model_ratio(policy.model_thresholds, (model or "").lower(), (provider or "").lower())
    if override is not None:
        return override, ThresholdSource.MODEL_OVERRIDE
    is_default = policy.threshold == CompactionPolicy().threshold
    return policy.threshold, ThresholdSource.DEFAULT if is_default else ThresholdSource.PROJECT


def _model_ratio(ratios: tuple[tuple[str, float], ...], model: str, provider: str) -> float | None:
    """The ratio of the longest pattern found in `model`. `provider:pattern` counts for that provider and wins ties."""
    best: tuple[int, bool] = (0, False)
    found: float | None = None
    for written, ratio in ratios:
        pattern = written.lower()
        prefix, _, rest = pattern.partition(":")
        has_provider = bool(provider and rest) and prefix == provider
        wanted = rest if has_provider else pattern
        rank = (len(wanted), has_provider)
        if wanted and wanted in model and rank > best:
            best, found = rank, ratio
    return found


def _apply_minimum(trail: _Trail, policy: CompactionPolicy, input_tokens: int) -> None:
    largest = int(input_tokens * LARGEST_SHARE)
    if policy.threshold_floor and trail.tokens < min(policy.threshold_minimum_tokens, largest):
        what = worded(
            "minimum of {:,}, at most {} of the input window", policy.threshold_minimum_tokens, _percent(LARGEST_SHARE)
        )
        trail.set(min(policy.threshold_minimum_tokens, largest), ThresholdSource.FLOOR, what)
    if trail.tokens >= input_tokens:
        what = worded("{} of the input window, because a full window can't be compacted", _percent(LARGEST_SHARE))
        trail.set(max(1, min(largest, input_tokens - 1)), ThresholdSource.CAP, what)


def _apply_caps(trail: _Trail, policy: CompactionPolicy, input_tokens: int, aux_window_tokens: int | None) -> None:
    if policy.threshold_tokens is not None and policy.threshold_tokens < trail.tokens:
        what = worded("cap of {:,} (threshold_tokens)", policy.threshold_tokens)
        trail.set(policy.threshold_tokens, ThresholdSource.CAP, what)
    if aux_window_tokens is not None and aux_window_tokens < trail.tokens:
        what = worded("window of the model that writes the summaries")
        trail.set(aux_window_tokens, ThresholdSource.AUXILIARY_WINDOW, what)


def _refusal(tokens: int, fixed_overhead_tokens: int) -> str:
    if tokens > fixed_overhead_tokens:
        return ""
    return (
        f"the threshold would be {tokens:,} tokens, but the system prompt and tool schemas alone take"
        f" {fixed_overhead_tokens:,}: it has to be above {fixed_overhead_tokens:,}"
    )


def _share_of_window(ratio: float, input_tokens: int) -> str:
    return worded("{} of the input window of {:,}", _percent(ratio), input_tokens)


def _percent(share: float) -> str:
    return f"{share * 100:g} %"
