"""What compaction costs and gives back, and what a prompt cache serves (ENGINE 12)."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from compaction.cache_prices import read_price_table, shipped_price_table
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
from compaction.model_view import model_view
from compaction.prompt_cache import SentMessage, SentRequest, bill_requests, sent_request, total_of
from compaction.summarizer import Usage
from tests.compaction.transcripts import COUNTER, chat

TABLE = shipped_price_table()
ANTHROPIC = TABLE.named("anthropic-5m")
OPENAI = TABLE.named("openai-gpt5")
NO_CACHE = TABLE.named("no-cache")
FINE = replace(ANTHROPIC, min_tokens=1)
KEPT = replace(FINE, ttl_refreshes_on_use=False)

ALL_PRICES = st.sampled_from([*TABLE.providers, FINE, KEPT])
MESSAGES = st.lists(st.builds(SentMessage, st.integers(0, 6), st.integers(0, 3_000)), max_size=12)
TIMES = st.one_of(st.none(), st.integers(0, 5_000).map(float))
REQUESTS = st.lists(st.builds(SentRequest, MESSAGES.map(tuple), TIMES), max_size=10)
TIMED = st.lists(st.builds(SentRequest, MESSAGES.map(tuple), st.just(0.0)), max_size=10)


def growing(sizes, gap_seconds=10.0):
    """Requests of a session that is only appended to."""
    messages = [SentMessage(n, tokens) for n, tokens in enumerate(sizes)]
    return [SentRequest(tuple(messages[: n + 1]), n * gap_seconds) for n in range(len(messages))]


def bills(requests, prices=ANTHROPIC):
    return list(bill_requests(requests, prices))


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


# What the cache serves


def test_a_session_that_is_only_appended_to_is_billed_for_what_is_new():
    billed = bills(growing([5_000, 300, 200]))
    assert [bill.cached_tokens for bill in billed] == [0, 5_000, 5_300]
    assert [bill.rebilled_tokens for bill in billed] == [0, 0, 0]
    assert billed[2].billed_tokens == 5_300 * 0.1 + 200 * 1.25
    assert billed[2].cached_pct == 96.4


def test_a_change_in_the_middle_is_billed_again_from_there_on_once():
    head, tail = SentMessage("head", 2_000), SentMessage("tail", 6_000)
    before = SentRequest((head, SentMessage("old", 1_000), tail), 0.0)
    after = SentRequest((head, SentMessage("summary", 300), tail), 10.0)
    billed = bills([before, after, replace(after, at_seconds=20.0)])
    changed = billed[1]
    assert (changed.cached_tokens, changed.rebilled_tokens, changed.new_tokens) == (2_000, 6_000, 300)
    assert changed.written_tokens == 6_300
    assert (billed[2].cached_tokens, billed[2].rebilled_tokens) == (8_300, 0)


def test_a_growing_chat_s_requests_are_served_from_the_cache_up_to_the_newest_turn():
    rows = chat(6, words=400)
    requests = [
        sent_request(
            model_view(rows[: 2 * turn]).messages, COUNTER, fixed_overhead_tokens=1_000, at_seconds=float(turn)
        )
        for turn in range(1, 7)
    ]
    billed = bills(requests)
    assert [bill.cached_tokens for bill in billed[2:]] == [request.tokens for request in requests[1:-1]]
    assert requests[0].tokens == 1_000 + rows[0].tokens + rows[1].tokens


def test_an_expired_cache_bills_everything_again():
    first, second = growing([5_000, 300], gap_seconds=300.0)
    assert [bill.cached_tokens for bill in bills([first, second])] == [0, 0]
    assert bills([first, second])[1].rebilled_tokens == 5_000
    assert bills([first, replace(second, at_seconds=299.9)])[1].cached_tokens == 5_000


def test_use_keeps_a_cache_alive_only_where_the_provider_says_so():
    requests = growing([5_000, 300, 200], gap_seconds=200.0)
    assert [bill.cached_tokens for bill in bills(requests, FINE)] == [0, 5_000, 5_300]
    assert [bill.cached_tokens for bill in bills(requests, KEPT)] == [0, 5_000, 0]


def test_without_refresh_the_newer_part_does_not_outlive_the_older_one():
    requests = [*growing([5_000, 300, 200], gap_seconds=140.0), SentRequest((), 281.0)]
    assert bills(requests[:3], KEPT)[2].cached_tokens == 5_300
    late = replace(requests[2], at_seconds=301.0)
    assert bills([*requests[:2], late], KEPT)[2].cached_tokens == 0


def test_cached_tokens_are_whole_granules_and_never_below_the_minimum():
    billed = bills(growing([1_500, 300]), OPENAI)
    assert billed[1].cached_tokens == 1_408
    assert billed[1].rebilled_tokens == 92
    small = bills(growing([1_000, 300]), OPENAI)
    assert small[1].cached_tokens == 0
    assert small[0].billed_tokens == 1_000


def test_a_request_too_small_for_the_cache_pays_no_write_price():
    only = bills(growing([1_000]))[0]
    assert (only.written_tokens, only.billed_tokens) == (0, 1_000)


def test_a_provider_without_cache_bills_every_token_in_full():
    billed = bills(growing([5_000, 300]), NO_CACHE)
    assert [bill.billed_tokens for bill in billed] == [5_000, 5_300]


def test_an_unknown_time_makes_the_bill_unknown_until_both_times_are_known_again():
    requests = growing([5_000, 300, 200, 100])
    requests[1] = replace(requests[1], at_seconds=None)
    billed = bills(requests)
    assert [bill.cached_tokens for bill in billed] == [0, None, None, 5_500]
    assert [bill.billed_tokens is None for bill in billed] == [False, True, True, False]
    assert billed[1].new_tokens == 300
    assert billed[1].cached_pct is None


def test_times_that_run_backwards_are_unknown():
    first, second = growing([5_000, 300])
    assert bills([replace(first, at_seconds=50.0), second])[1].cached_tokens is None


def test_two_requests_at_the_same_time_share_the_cache():
    first, second = growing([5_000, 300], gap_seconds=0.0)
    assert bills([first, second])[1].cached_tokens == 5_000


def test_where_nothing_can_be_cached_no_time_is_needed():
    requests = [replace(request, at_seconds=None) for request in growing([500, 300])]
    assert [bill.cached_tokens for bill in bills(requests)] == [0, 0]
    assert [bill.cached_tokens for bill in bills(requests, NO_CACHE)] == [0, 0]


@given(REQUESTS, ALL_PRICES)
def test_the_parts_of_a_request_add_up(requests, prices):
    for request, bill in zip(requests, bills(requests, prices), strict=True):
        assert bill.sent_tokens == request.tokens
        unknown = [part is None for part in (bill.cached_tokens, bill.rebilled_tokens, bill.billed_tokens)]
        assert all(unknown) or not any(unknown)
        if not any(unknown):
            assert bill.cached_tokens + bill.rebilled_tokens + bill.new_tokens == bill.sent_tokens
            assert min(bill.cached_tokens, bill.rebilled_tokens, bill.new_tokens) >= 0
            plain = bill.sent_tokens - bill.cached_tokens - bill.written_tokens
            worth = bill.cached_tokens * prices.read + bill.written_tokens * prices.write + plain
            assert math.isclose(bill.billed_tokens, worth)
            assert bill.cached_tokens % prices.granularity_tokens == 0
            assert bill.cached_tokens == 0 or bill.cached_tokens >= prices.min_tokens


@given(REQUESTS, ALL_PRICES)
def test_totals_are_the_sums_of_the_known_bills(requests, prices):
    billed = bills(requests, prices)
    total = total_of(billed)
    known = [bill for bill in billed if bill.cached_tokens is not None]
    assert total.requests - total.unknown_requests == len(known)
    assert total.sent_tokens == sum(request.tokens for request in requests)
    if known:
        sent = sum(bill.sent_tokens for bill in known)
        assert total.cached_tokens + total.rebilled_tokens + sum(bill.new_tokens for bill in known) == sent
        assert math.isclose(total.billed_tokens, sum(bill.billed_tokens for bill in known))
    else:
        assert (total.cached_tokens, total.billed_tokens) == (None, None)


@given(st.lists(st.integers(1, 5_000), min_size=2, max_size=30), ALL_PRICES.filter(lambda prices: prices.ttl_seconds))
def test_a_history_that_is_only_appended_to_stays_cached(sizes, prices):
    requests = growing(sizes, gap_seconds=1.0)
    billed = bills(requests, prices)
    for before, bill in zip(requests, billed[1:], strict=False):
        if before.tokens >= prices.min_tokens + prices.granularity_tokens:
            assert bill.rebilled_tokens < prices.granularity_tokens
            assert bill.new_tokens == bill.sent_tokens - before.tokens


@given(TIMED, st.sampled_from([ANTHROPIC, OPENAI, FINE]))
def test_no_more_is_served_than_the_common_beginning(requests, prices):
    before = ()
    for request, bill in zip(requests, bills(requests, prices), strict=True):
        common = 0
        for old, new in zip(before, request.messages, strict=False):
            if old != new:
                break
            common += new.tokens
        assert bill.cached_tokens <= common
        before = request.messages


@given(REQUESTS, ALL_PRICES)
def test_a_session_compared_with_itself_is_neither_ahead_nor_behind(requests, prices):
    billed = bills(requests, prices)
    compared = compare(billed, billed)
    is_known = all(bill.billed_tokens is not None for bill in billed)
    assert compared.ahead_tokens == (0.0 if is_known else None)


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


# Price tables


@pytest.mark.parametrize(
    ("since", "now", "is_alive"),
    [(0.0, 299.9, True), (0.0, 300.0, False), (None, 5.0, None), (5.0, None, None), (9.0, 5.0, None)],
)
def test_a_cache_is_alive_dead_or_unknown(since, now, is_alive):
    assert ANTHROPIC.is_alive(since, now) is is_alive
    assert NO_CACHE.is_alive(since, now) is False


def test_the_shipped_table_holds_the_published_figures():
    assert [prices.id for prices in TABLE.providers][:2] == ["anthropic-5m", "anthropic-1h"]
    assert (ANTHROPIC.read, ANTHROPIC.write, ANTHROPIC.ttl_seconds) == (0.1, 1.25, 300)
    assert TABLE.named("deepseek-flash").granularity_tokens == 64
    assert TABLE.named("gemini-implicit").unsure == ("ttl_seconds",)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("anthropic/claude-sonnet-4.5", "anthropic-5m"),
        ("gpt-5-mini", "openai-gpt5"),
        ("openai/GPT-5.6-turbo", "openai-gpt56"),
        ("gemini-2.5-pro", "gemini-implicit"),
    ],
)
def test_a_model_finds_the_table_with_the_longest_match(model, expected):
    assert TABLE.for_model(model).id == expected


def test_an_unknown_model_has_no_table():
    assert TABLE.for_model("llama-3.2-1b") is None
    assert TABLE.for_model("") is None


GOOD = {"id": "a", "read": 0.1, "write": 1, "ttl_seconds": 60, "ttl_refreshes_on_use": True, "min_tokens": 0}


def table_of(*entries):
    return json.dumps({"providers": list(entries)})


def test_a_project_s_own_table_is_read_like_the_shipped_one():
    assert read_price_table(table_of(GOOD)).named("a").write == 1.0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not valid JSON"),
        ("[]", "list of providers"),
        ('{"providers": []}', "list of providers"),
        (table_of(1), "provider 1: must be an object"),
        (table_of({"id": "a"}), "missing: read, write"),
        (table_of({**GOOD, "colour": 1}), "unknown: colour"),
        (table_of({**GOOD, "read": -0.1}), "read must be a number"),
        (table_of({**GOOD, "read": True}), "read must be a number"),
        ('{"providers": [' + json.dumps(GOOD).replace("0.1", "NaN") + "]}", "read must be a number"),
        (table_of({**GOOD, "min_tokens": 1.5}), "min_tokens must be a whole number"),
        (table_of({**GOOD, "granularity_tokens": 0}), "granularity_tokens must be a whole number of at least 1"),
        (table_of({**GOOD, "ttl_refreshes_on_use": 1}), "ttl_refreshes_on_use must be true or false"),
        (table_of({**GOOD, "unsure": ["colour"]}), "unsure names keys"),
        (table_of({**GOOD, "models": "claude"}), "models must be a list"),
        (table_of({**GOOD, "id": " "}), "id must be a text"),
        (table_of(GOOD, GOOD), "more than once: a"),
    ],
)
def test_a_table_that_can_not_be_right_is_refused_with_the_place(text, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        read_price_table(text, "mine.json")


def test_an_unknown_table_is_refused_with_the_known_names():
    with pytest.raises(InvalidInput, match="no-cache"):
        TABLE.named("nobody")
