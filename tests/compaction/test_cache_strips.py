"""The three strips of a pass."""

from compaction.cache_prices import CachePrices
from compaction.cache_strips import Strip, strips_of

PRICES = CachePrices("test", 0.1, 1.25, 300, True, 100, 10)
SIZES = {"tokens_before": 1_005, "tokens_after": 400, "prefix_tokens": 255, "head_tokens": 120}


def test_a_pass_keeps_the_beginning_in_front_of_its_first_change_and_truncation_only_the_head():
    strips = strips_of(PRICES, **SIZES, is_cache_warm=True)
    assert strips.before == Strip(1_005, 1_000, 5)
    assert strips.after == Strip(400, 250, 150)
    assert strips.truncated == Strip(400, 120, 280)
    assert strips.after.cached_pct == 62.5


def test_of_an_expired_history_everything_is_billed_again_whatever_is_done():
    strips = strips_of(PRICES, **SIZES, is_cache_warm=False)
    assert [one.cached_tokens for one in (strips.before, strips.after, strips.truncated)] == [0, 0, 0]


def test_without_times_only_the_sizes_are_known():
    strips = strips_of(PRICES, **SIZES, is_cache_warm=None)
    assert (strips.after, strips.after.cached_pct) == (Strip(400, None, None), None)


def test_without_a_known_head_truncation_is_unknown():
    strips = strips_of(PRICES, **{**SIZES, "head_tokens": None}, is_cache_warm=True)
    assert strips.truncated is None


def test_a_beginning_below_the_minimum_is_not_cached():
    strips = strips_of(PRICES, **{**SIZES, "prefix_tokens": 99}, is_cache_warm=True)
    assert strips.after.cached_tokens == 0
