"""How many tokens tail, head and summaries may take."""

from compaction.budgets import (
    TailBudget,
    head_limit_tokens,
    longest_summary_tokens,
    rolling_output_tokens,
    rolling_target_tokens,
    summary_budget_tokens,
    tail_budget,
)
from compaction.policy import CompactionPolicy, TailMode
from compaction.threshold import Window, effective_threshold

DEFAULTS = CompactionPolicy()


def budget(window_tokens, policy=DEFAULTS) -> TailBudget:
    window = Window(window_tokens)
    return tail_budget(policy, effective_threshold(policy, window), window)


def test_the_ratio_tail_is_a_share_of_the_threshold_and_at_most_a_fifth_of_the_window():
    assert budget(128_000) == TailBudget(19_200, 25_600)
    assert budget(400_000, CompactionPolicy(threshold=0.8)) == TailBudget(64_000, 80_000)
    assert budget(400_000, CompactionPolicy(threshold=0.8, target_ratio=0.5)) == TailBudget(80_000, 80_000)
    assert budget(40_960) == TailBudget(6_963, 8_192)


def test_the_lean_tail_is_a_share_of_the_window_within_fixed_bounds():
    lean = CompactionPolicy(tail_mode=TailMode.LEAN)
    assert budget(200_000, lean) == TailBudget(10_000, 15_000)
    assert budget(512_000, lean) == TailBudget(12_800, 19_200)
    assert budget(2_000_000, lean) == TailBudget(25_000, 37_500)
    assert budget(16_384, lean) == TailBudget(3_276, 3_276)


def test_the_ceiling_is_never_below_the_budget_nor_the_budget_below_one_token():
    assert budget(1) == TailBudget(1, 1)


def test_an_unknown_window_is_treated_as_one_with_the_usual_threshold():
    assert budget(None) == TailBudget(12_800, 19_200)
    policy = CompactionPolicy()
    assert head_limit_tokens(policy, effective_threshold(policy, Window())) == 16_000


def test_a_summary_is_a_fifth_of_what_it_replaces_within_floor_and_caps():
    policy, window = CompactionPolicy(), Window(200_000)
    assert summary_budget_tokens(policy, window, 40_000) == 8_000
    assert summary_budget_tokens(policy, window, 9_000) == 2_000
    assert summary_budget_tokens(policy, window, 500_000) == 10_000
    assert summary_budget_tokens(policy, Window(1_000_000), 500_000) == 12_000
    assert summary_budget_tokens(policy, Window(), 500_000) == 12_000


def test_the_floor_beats_the_cap_of_a_small_window_but_not_half_of_what_is_replaced():
    policy, window = CompactionPolicy(), Window(16_384)
    assert longest_summary_tokens(policy, window) == 819
    assert summary_budget_tokens(policy, window, 10_000) == 2_000
    assert summary_budget_tokens(policy, window, 1_000) == 500


def test_the_rolling_summary_may_grow_past_its_target_up_to_beyond_the_defrag_threshold():
    policy = CompactionPolicy()
    target, limit = rolling_target_tokens(policy), rolling_output_tokens(policy)
    assert (target, limit) == (1_500, 2_500)
    assert target < policy.micro_compact_defrag_threshold_tokens < limit
