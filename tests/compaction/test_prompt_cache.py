"""What a prompt cache serves of each request, and what the request is billed."""

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from compaction.economics import (
    compare,
)
from compaction.model_view import model_view
from compaction.prompt_cache import SentMessage, SentRequest, sent_request, total_of
from tests.compaction.cached_sessions import (
    ALL_PRICES,
    ANTHROPIC,
    FINE,
    KEPT,
    NO_CACHE,
    OPENAI,
    REQUESTS,
    TIMED,
    bills,
    growing,
)
from tests.compaction.transcripts import COUNTER, chat


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
