"""What settings would do, worked out at once: thresholds of the project's models, tail, head, and the first pass.

Estimates say that they are: they rest on the newest sessions' means. What stored sessions would really have had is
found by a trial in the background (`policy_trials`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from django.db.models import Count

from compaction.budgets import TailBudget, head_limit_tokens, rolling_target_tokens, tail_budget
from compaction.cache_prices import CachePrices, shipped_price_table
from compaction.economics import PassEconomics, Verdict, price_pass
from compaction.markers import summary_message
from compaction.policy import CompactionPolicy
from compaction.threshold import Threshold, Window, effective_threshold
from compaction.tokens import RoughCounter, row_tokens
from sessions_app.models import Project
from sessions_app.queries.project_figures import ProjectFigures
from sessions_app.session_policy import main_model_of
from sessions_app.windows import resolve_window

MOST_MODELS: Final = 4
# A summary keeps about this much of what it absorbs, until it has reached its size.
_KEPT_SHARE: Final = 0.2


@dataclass(frozen=True, slots=True)
class ModelPreview:
    """One model that the project's sessions talk to. name: empty when nobody said. sessions: None for the project's own
    main model where no session uses it."""

    name: str
    sessions: int | None
    window: Window
    threshold: Threshold
    tail: TailBudget
    head_tokens: int

    @property
    def share_pct(self) -> float | None:
        """The threshold as a share of the input window."""
        window = self.window.input_tokens
        if self.threshold.tokens is None or not window:
            return None
        return 100 * self.threshold.tokens / window


@dataclass(frozen=True, slots=True)
class RewriteCost:
    """What one micro pass costs and gives back, in the mean. at_tokens: the context at which the first one can come.

    next_pass_requests: after about how many requests the next pass comes; None when that is not known.
    """

    prices: CachePrices
    at_tokens: int
    economics: PassEconomics
    is_first: bool
    is_measured: bool
    next_pass_requests: float | None

    @property
    def is_never(self) -> bool:
        return self.economics.break_even.verdict is Verdict.NEVER

    @property
    def comes_too_late(self) -> bool:
        """Whether the next pass breaks the cache again before this one has earned itself back."""
        calls = self.economics.break_even.calls
        if self.is_never:
            return True
        return calls is not None and self.next_pass_requests is not None and calls > self.next_pass_requests


@dataclass(frozen=True, slots=True)
class Preview:
    """What settings would do. first, later: a micro pass, while they are on and prices and sizes are known."""

    models: tuple[ModelPreview, ...]
    models_left: int
    first: RewriteCost | None
    later: RewriteCost | None

    @property
    def main(self) -> ModelPreview:
        """The model that the page speaks of."""
        return self.models[0]


def read_preview(project: Project, policy: CompactionPolicy, figures: ProjectFigures) -> Preview:
    """The preview, in one query."""
    kinds = model_kinds(project)
    models = tuple(model_preview(policy, project, *kind) for kind in kinds[:MOST_MODELS])
    first = later = None
    if policy.runs_micro:
        first, later = first_cost(models[0], policy, figures), later_cost(models[0], policy, figures)
    return Preview(models, max(0, len(kinds) - MOST_MODELS), first, later)


def model_kinds(project: Project) -> list[tuple[str, int | None, int | None, int | None]]:
    """Name, window and overhead of what sessions of the project talk to, with how many do: the project's own model
    first, then by number of sessions."""
    found = project.sessions.order_by().values_list("model", "window_tokens", "fixed_overhead_tokens")
    counts: dict[tuple[str, int | None], list[int]] = {}
    for model, window, overhead, count in found.annotate(count=Count("pk")).order_by("-count"):
        name, tokens = model or project.main_model or "", window or project.window_tokens
        held = counts.setdefault((name, tokens), [0, 0])
        held[0] += count
        held[1] = max(held[1], overhead or 0)
    own = (project.main_model or "", project.window_tokens)
    kinds = [(name, tokens, count, overhead) for (name, tokens), (count, overhead) in counts.items()]
    if any(kind[0] for kind in kinds):
        kinds.sort(key=lambda kind: (kind[:2] != own, -(kind[2])))
    if own[0] and own not in counts:
        return [(*own, None, project.fixed_overhead_tokens), *kinds]
    return [*kinds] or [(*own, None, project.fixed_overhead_tokens)]


def model_preview(
    policy: CompactionPolicy,
    project: Project,
    name: str,
    window_tokens: int | None,
    sessions: int | None,
    overhead_tokens: int | None,
) -> ModelPreview:
    """The thresholds and zones of one model."""
    window = replace(resolve_window(window_tokens, name), max_output_tokens=main_model_of(project).max_output_tokens)
    threshold = effective_threshold(
        policy,
        window,
        model=name,
        aux_window_tokens=policy.auxiliary.window_tokens,
        fixed_overhead_tokens=overhead_tokens or project.fixed_overhead_tokens or 0,
    )
    tail, head = tail_budget(policy, threshold, window), head_limit_tokens(policy, threshold)
    return ModelPreview(name, sessions, window, threshold, tail, head)


def frame_tokens() -> int:
    """What the frame of a summary row costs, empty."""
    return row_tokens(summary_message(""), RoughCounter())


def prices_of(model: ModelPreview) -> CachePrices | None:
    """The cache prices of a model; None when no table knows it."""
    return shipped_price_table().for_model(model.name) if model.name else None


def first_cost(model: ModelPreview, policy: CompactionPolicy, figures: ProjectFigures) -> RewriteCost | None:
    """The first micro pass: it brings the summary's frame, so it frees least."""
    prices, exchange = prices_of(model), figures.exchange_tokens
    if prices is None or exchange is None:
        return None
    taken = taken_tokens(policy, exchange)
    summary = frame_tokens() + min(round(taken * _KEPT_SHARE), rolling_target_tokens(policy))
    behind = model.tail.budget_tokens + summary
    economics = price_pass(
        prices, rebilled_tokens=behind, saved_tokens=round(taken) - summary, summarizer_billed_tokens=0
    )
    at_tokens = (figures.overhead_tokens or 0) + model.tail.budget_tokens + round(taken)
    return RewriteCost(prices, at_tokens, economics, True, False, requests_between(policy, figures, taken / exchange))


def later_cost(model: ModelPreview, policy: CompactionPolicy, figures: ProjectFigures) -> RewriteCost | None:
    """A later micro pass: as passes of this project measured it, else estimated with a summary of its full size."""
    prices, exchange = prices_of(model), figures.exchange_tokens
    if prices is None or exchange is None:
        return None
    taken = taken_tokens(policy, exchange)
    is_measured = figures.micro_rebilled_tokens is not None and figures.micro_freed_tokens is not None
    summary = frame_tokens() + rolling_target_tokens(policy)
    behind = round(figures.micro_rebilled_tokens or 0) if is_measured else model.tail.budget_tokens + summary
    economics = price_pass(
        prices,
        rebilled_tokens=behind,
        saved_tokens=round(taken * (1 - _KEPT_SHARE)),
        summarizer_billed_tokens=0,
    )
    between = requests_between(policy, figures, taken / exchange)
    return RewriteCost(prices, behind, economics, False, is_measured, between)


def taken_tokens(policy: CompactionPolicy, exchange_tokens: float) -> float:
    """What one pass absorbs, in the mean."""
    if policy.micro_compact_min_reclaim_tokens:
        return max(policy.micro_compact_min_reclaim_tokens, exchange_tokens)
    return exchange_tokens * min(policy.micro_compact_max_exchanges, policy.micro_compact_every_n_turns)


def requests_between(policy: CompactionPolicy, figures: ProjectFigures, exchanges: float) -> float | None:
    """About how many requests lie between two passes."""
    if figures.requests_per_turn is None:
        return None
    return figures.requests_per_turn * max(policy.micro_compact_every_n_turns, exchanges)
