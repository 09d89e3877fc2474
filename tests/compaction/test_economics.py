"""What compaction costs and gives back."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from compaction.economics import (
    BreakEven,
    SummarizerPrices,
    Verdict,
    break_even,
    compare,
    money,
    price_pass,
    summarizer_bill,
)
from compaction.errors import InvalidInput
from compaction.prompt_cache import SentMessage, SentRequest
from compaction.summarizer import Usage
from tests.compaction.cached_sessions import ALL_PRICES, ANTHROPIC, OPENAI, bills, growing

# One pass


def test_sixty_thousand_rebilled_for_seven_hundred_saved_take_986_later_calls():
    priced = price_pass(ANTHROPIC, rebilled_tokens=60_000, saved_tokens=700, summarizer_billed_tokens=0)
    assert priced.rebilled_extra_tokens == 69_000
    assert priced.gain_per_call_tokens == 70
    assert priced.break_even == BreakEven(Verdict.AFTER_CALLS, 986)


def test_the_summarizer_is_part_of_the_bill():
    priced = price_pass(ANTHROPIC, rebilled_tokens=60_000, saved_tokens=700, summarizer_billed_tokens=71)
    assert priced.billed_tokens == 69_071
    assert priced.break_even.calls == 987


def test_a_whole_number_of_calls_is_not_rounded_up():
    priced = price_pass(OPENAI, rebilled_tokens=7_000, saved_tokens=700, summarizer_billed_tokens=0)
    assert priced.break_even.calls == 90
    assert break_even(0.3, 0.1).calls == 3


def test_a_pass_that_saves_nothing_is_never_earned_back():
    for saved_tokens in (0, -300):
        priced = price_pass(ANTHROPIC, rebilled_tokens=1, saved_tokens=saved_tokens, summarizer_billed_tokens=0)
        assert priced.break_even == BreakEven(Verdict.NEVER)


def test_a_growing_pass_on_a_cold_cache_is_never_earned_back_either():
    priced = price_pass(ANTHROPIC, rebilled_tokens=1, saved_tokens=-1, summarizer_billed_tokens=0, is_cache_warm=False)
    assert priced.break_even.verdict is Verdict.NEVER


def test_on_a_cold_cache_nothing_is_billed_again():
    priced = price_pass(
        ANTHROPIC, rebilled_tokens=60_000, saved_tokens=700, summarizer_billed_tokens=0, is_cache_warm=False
    )
    assert (priced.rebilled_tokens, priced.billed_tokens, priced.break_even.calls) == (0, 0, 0)


@pytest.mark.parametrize(
    "unknown", [{"rebilled_tokens": None}, {"summarizer_billed_tokens": None}, {"is_cache_warm": None}]
)
def test_an_unknown_part_makes_the_bill_unknown_and_not_never(unknown):
    facts = {"rebilled_tokens": 5_000, "saved_tokens": 700, "summarizer_billed_tokens": 0.0, **unknown}
    priced = price_pass(ANTHROPIC, **facts)
    assert priced.billed_tokens is None
    assert priced.break_even == BreakEven(Verdict.UNKNOWN)


@given(st.integers(0, 10**7), st.integers(1, 10**6), st.integers(0, 10**6), ALL_PRICES)
def test_break_even_is_the_first_call_by_which_the_bill_is_earned_back(rebilled, saved, summarizer, prices):
    priced = price_pass(prices, rebilled_tokens=rebilled, saved_tokens=saved, summarizer_billed_tokens=summarizer)
    calls = priced.break_even.calls
    gain, bill = priced.gain_per_call_tokens, priced.billed_tokens
    assert calls * gain >= bill - 1e-6 * max(1, bill)
    assert calls == 0 or (calls - 1) * gain < bill + 1e-6 * max(1, bill)


@given(
    st.integers(1_100, 20_000),
    st.integers(1_000, 9_000),
    st.integers(1, 900),
    st.integers(0, 9_000),
    st.integers(0, 2_000),
)
def test_the_formula_agrees_with_billing_every_request(prefix, removed, summary, tail, growth):
    """A session with one pass and the same session without, billed request by request, cross where the formula says."""
    saved = removed - summary
    priced = price_pass(ANTHROPIC, rebilled_tokens=summary + tail, saved_tokens=saved, summarizer_billed_tokens=0)
    later = priced.break_even.calls
    assume(later <= 400)
    plain, passed = [], []
    for n in range(later + 3):
        grown = tuple(SentMessage(("new", k), growth) for k in range(n))
        head, old = SentMessage("head", prefix), (SentMessage("old", removed),)
        plain.append(SentRequest((head, *old, SentMessage("tail", tail), *grown), n * 10.0))
        made = old if n == 0 else (SentMessage("summary", summary),)
        passed.append(SentRequest((head, *made, SentMessage("tail", tail), *grown), n * 10.0))
    compared = compare(bills(passed), bills(plain))
    # Request 0 is before the pass, and costs the same both ways.
    assert compared.broke_even_at == (0 if later <= 1 else later)
    assert compared.ahead_tokens >= -1e-6


# The summarizer's bill


def test_a_summarizer_is_billed_by_its_own_prices():
    usage = Usage(input_tokens=10_000, output_tokens=1_000, cached_tokens=4_000)
    assert summarizer_bill(usage, SummarizerPrices(0.5, 2.0, 0.1)) == 6_000 * 0.5 + 4_000 * 0.1 + 1_000 * 2.0
    assert summarizer_bill(usage, SummarizerPrices(0.5, 2.0)) == 10_000 * 0.5 + 1_000 * 2.0


@pytest.mark.parametrize("usage", [Usage(), Usage(input_tokens=5), Usage(output_tokens=5)])
def test_unreported_usage_makes_no_bill_of_nothing(usage):
    assert summarizer_bill(usage, SummarizerPrices(1, 1)) is None


def test_unknown_prices_make_no_bill_of_nothing():
    assert summarizer_bill(Usage(5, 5), None) is None
    assert money(None, 3.0) is None
    assert money(1_000_000, None) is None


def test_full_price_tokens_become_money_at_the_base_price():
    assert money(2_000_000, 2.5) == 5.0


# Comparing


def test_a_session_that_has_not_paid_for_its_passes_says_so():
    plain = bills(growing([5_000, 300, 200]))
    compared = compare(plain, plain, [0.0, 500.0, 0.0])
    assert compared.broke_even_at is None
    assert compared.ahead_tokens == -500


def test_an_unknown_summarizer_bill_makes_all_that_follows_unknown():
    plain = bills(growing([5_000, 300, 200]))
    compared = compare(plain, plain, [0.0, None, 0.0])
    assert [total is None for total in compared.with_passes] == [False, True, True]
    assert (compared.broke_even_at, compared.ahead_tokens) == (None, None)


def test_sessions_of_different_length_are_not_compared():
    plain = bills(growing([5_000, 300]))
    with pytest.raises(InvalidInput, match="differ in number: 2, 1 and 2"):
        compare(plain, plain[:1])
