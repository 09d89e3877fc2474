"""From settings and a window to what a pass is made under."""

from __future__ import annotations

from compaction.budgets import head_limit_tokens, tail_budget
from compaction.passes import PassContext
from compaction.policy import CompactionPolicy
from compaction.threshold import Window, effective_threshold
from compaction.tokens import TokenCounter


def make_context(
    policy: CompactionPolicy,
    window: Window,
    counter: TokenCounter,
    *,
    fixed_overhead_tokens: int = 0,
    main_model: str = "",
    aux_model: str = "",
    aux_window_tokens: int | None = None,
    is_cache_cold: bool | None = None,
) -> PassContext:
    """The context of passes under `policy` on a session whose model has `window`.

    aux_window_tokens: window of the summarizer; what the policy itself says about it wins.
    """
    aux_window = policy.auxiliary.window_tokens or aux_window_tokens
    threshold = effective_threshold(
        policy,
        window,
        model=main_model,
        aux_window_tokens=aux_window,
        fixed_overhead_tokens=fixed_overhead_tokens,
    )
    return PassContext(
        policy=policy,
        counter=counter,
        threshold_tokens=threshold.tokens,
        head_limit_tokens=head_limit_tokens(policy, threshold),
        tail=tail_budget(policy, threshold, window),
        context_limit_tokens=window.context_tokens,
        fixed_overhead_tokens=fixed_overhead_tokens,
        aux_window_tokens=aux_window,
        main_model=main_model,
        aux_model=aux_model or policy.auxiliary.model,
        is_cache_cold=is_cache_cold,
    )
