"""When a batch starts, and which rule had the last word."""

import pytest

from compaction.policy import AuxiliaryModel, CompactionPolicy
from compaction.threshold import Threshold, ThresholdSource, Window, effective_threshold, occupancy_pct

DEFAULTS = CompactionPolicy()


def threshold(window_tokens, policy=DEFAULTS, **more) -> Threshold:
    return effective_threshold(policy, Window(window_tokens), **more)


@pytest.mark.parametrize(
    ("window_tokens", "expected", "source"),
    [
        (40_960, 34_816, ThresholdSource.FLOOR),
        (64_000, 54_400, ThresholdSource.FLOOR),
        (128_000, 96_000, ThresholdSource.FLOOR),
        (200_000, 150_000, ThresholdSource.FLOOR),
        (511_999, 383_999, ThresholdSource.FLOOR),
        (512_000, 256_000, ThresholdSource.DEFAULT),
        (1_000_000, 500_000, ThresholdSource.DEFAULT),
    ],
)
def test_the_default_threshold_of_a_window_names_its_source(window_tokens, expected, source):
    found = threshold(window_tokens)
    assert (found.tokens, found.source) == (expected, source)
    assert found.steps[-1].value == expected


def test_without_the_floor_the_ratio_is_taken_as_written():
    policy = CompactionPolicy(threshold_floor=False)
    assert [threshold(window, policy).tokens for window in (40_960, 128_000, 200_000)] == [20_480, 64_000, 100_000]
    assert threshold(200_000, policy).source is ThresholdSource.DEFAULT


def test_room_for_the_answer_is_taken_off_the_window_first():
    assert effective_threshold(CompactionPolicy(), Window(200_000, 65_536)).tokens == 100_848


def test_a_reservation_as_large_as_the_window_is_ignored():
    assert effective_threshold(CompactionPolicy(), Window(200_000, 200_000)).tokens == 150_000


def test_a_cap_lowers_the_threshold_and_a_cap_above_it_changes_nothing():
    capped = threshold(200_000, CompactionPolicy(threshold_tokens=50_000))
    assert (capped.tokens, capped.source) == (50_000, ThresholdSource.CAP)
    loose = threshold(200_000, CompactionPolicy(threshold_tokens=900_000))
    assert (loose.tokens, loose.source) == (150_000, ThresholdSource.FLOOR)


def test_a_full_window_as_threshold_is_held_below_the_window():
    assert threshold(1_000_000, CompactionPolicy(threshold=1.0)).tokens == 850_000


def test_the_longest_matching_model_wins_and_a_provider_breaks_ties():
    ratios = (("gpt", 0.6), ("gpt-5", 0.7), ("azure:gpt-5", 0.8), ("other", 0.9))
    policy = CompactionPolicy(model_thresholds=ratios)
    assert threshold(1_000_000, policy, model="gpt-5.1").tokens == 700_000
    assert threshold(1_000_000, policy, model="GPT-5.1", provider="azure").tokens == 800_000
    assert threshold(1_000_000, policy, model="gpt-4").source is ThresholdSource.MODEL_OVERRIDE
    assert threshold(1_000_000, policy, model="llama").source is ThresholdSource.DEFAULT


def test_a_model_name_with_a_colon_is_matched_as_it_stands():
    policy = CompactionPolicy(model_thresholds=(("qwen3:8b", 0.6),))
    assert threshold(1_000_000, policy, model="qwen3:8b", provider="local").tokens == 600_000


def test_a_smaller_summarizer_lowers_the_threshold_and_is_named():
    found = threshold(400_000, aux_window_tokens=128_000)
    assert (found.tokens, found.source) == (128_000, ThresholdSource.AUXILIARY_WINDOW)


def test_an_unknown_window_gives_an_unknown_threshold_never_zero():
    found = threshold(None, CompactionPolicy(threshold_tokens=50_000))
    assert found.tokens is None
    assert found.source is ThresholdSource.UNKNOWN_WINDOW
    assert occupancy_pct(10_000, found.tokens) is None


def test_a_threshold_within_the_fixed_overhead_is_refused_with_the_number_to_beat():
    found = threshold(200_000, CompactionPolicy(threshold_tokens=12_000), fixed_overhead_tokens=12_000)
    assert "above 12,000" in found.refusal
    assert threshold(200_000, CompactionPolicy(threshold_tokens=12_001), fixed_overhead_tokens=12_000).refusal == ""


def test_occupancy_counts_the_fixed_overhead_and_has_one_decimal():
    assert occupancy_pct(3_522, 34_816) == 10.1
    assert occupancy_pct(50_000, 96_000, fixed_overhead_tokens=10_000) == 62.5


def test_steps_tell_what_was_asked_for_and_what_changed_it():
    steps = threshold(262_144, CompactionPolicy(threshold=0.6)).steps
    assert [step.value for step in steps] == [157_286, 196_608]
    assert steps[0].what == "60 % of the input window of 262,144"
    assert steps[1].what == "75 %, because the window is under 512,000"


def test_c02_a_ratio_that_was_set_is_not_outranked_by_a_default_cap():
    policy = CompactionPolicy.from_mapping({"compression": {"model_thresholds": {"big-window": 0.3}}}).policy
    found = threshold(1_000_000, policy, model="big-window")
    assert (found.tokens, found.source) == (300_000, ThresholdSource.MODEL_OVERRIDE)


def test_c07_a_summarizer_window_that_was_set_wins_over_the_catalogue():
    policy = CompactionPolicy(threshold=0.9, auxiliary=AuxiliaryModel(window_tokens=1_048_576))
    assert threshold(1_000_000, policy, aux_window_tokens=256_000).tokens == 900_000
    assert threshold(1_000_000, CompactionPolicy(threshold=0.9), aux_window_tokens=256_000).tokens == 256_000
