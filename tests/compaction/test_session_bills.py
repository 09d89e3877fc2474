"""Bills told in pieces against bills told at once, and both against the plain definitions, on random sessions."""

import random
from bisect import bisect_right

import pytest

from compaction.cache_prices import CachePrices
from compaction.economics import compare
from compaction.prompt_cache import bill_measured, total_of
from compaction.request_history import HistoryState, HistoryWalk, RowLife, read_history
from compaction.session_bills import MOST_POINTS, BillsState, HeldPass, tell_bills
from tests.compaction.told_sessions import OVERHEAD, Teller

PRICES = CachePrices("test", 0.1, 1.25, 300, True, 50, 10)
STRICT = CachePrices("strict", 0.1, 1.25, 100, False, 50, 10)
NONE = CachePrices("none", 1.0, 1.0, 0, False, 0)


def session(seed, steps=120):
    teller = Teller(seed).tell(steps, is_rough=True)
    lives = teller.row_lives()
    if seed % 3 == 0:
        lives = [life._replace(at_seconds=None) if life.row_id % 11 == 0 else life for life in lives]
    return teller, lives


def at_once(teller, lives, prices, **more):
    history = read_history(lives, fixed_overhead_tokens=OVERHEAD, reset_seqs=teller.resets)
    return history, tell_bills(BillsState(), history, teller.passes, prices, **more)


def in_pieces(teller, lives, prices, cuts, **more):
    """Every piece knows nothing but the states of the one before and the lives that begin or end in it."""
    state, bills, requests, passes = HistoryState(), BillsState(), [], {}
    for through in cuts:
        after = state.seq
        near = [one for one in lives if after < one.born_seq <= through or after < (one.died_seq or 0) <= through]
        walk = HistoryWalk(OVERHEAD, state)
        history = walk.go_on(near, through, [seq for seq in teller.resets if after < seq <= through])
        held = [one for one in teller.passes if after < one.seq <= through]
        told = tell_bills(bills, history, held, prices, **more)
        state, bills = walk.state(), told.state
        requests += told.requests
        passes.update({one.number: one for one in told.passes})
    return requests, passes, bills, state


@pytest.mark.parametrize("seed", range(120))
def test_bills_told_in_pieces_are_those_told_at_once_wherever_the_cuts_are(seed):
    teller, lives = session(seed)
    chance = random.Random(seed)
    cuts = [*sorted(chance.sample(range(1, teller.seq), 6)), teller.seq]
    for prices, has_no_pauses in ((PRICES, False), (STRICT, False), (NONE, False), (PRICES, True)):
        history, told = at_once(teller, lives, prices, has_no_pauses=has_no_pauses)
        requests, passes, bills, state = in_pieces(teller, lives, prices, cuts, has_no_pauses=has_no_pauses)
        assert tuple(requests) == told.requests
        assert tuple(passes.values()) == told.passes
        assert bills == told.state
        whole = HistoryWalk(OVERHEAD)
        whole.go_on(lives, teller.seq, teller.resets)
        assert state == whole.state()


@pytest.mark.parametrize("seed", range(60))
def test_sums_are_those_of_comparing_both_ways_request_by_request(seed):
    teller, lives = session(seed)
    history, told = at_once(teller, lives, PRICES)
    bills = list(bill_measured([one.as_sent for one in history.requests], PRICES))
    spared = list(bill_measured([one.without_passes for one in history.requests], PRICES))
    compared = compare(bills, spared, summarizer_bills(history, teller.passes))
    state = told.state
    assert (state.totals, state.spared_totals) == (total_of(bills), total_of(spared))
    assert [one.bill for one in told.requests] == bills
    if history.requests:
        assert state.paid_tokens == pytest.approx(compared.with_passes[-1])
        assert state.running_spared_tokens == compared.without_passes[-1]
        assert state.ahead_tokens == pytest.approx(compared.ahead_tokens, abs=1e-6)
        assert state.broke_even_request == compared.broke_even_at


def summarizer_bills(history, passes):
    """What summarizers cost before each request; those behind the last one count with it."""
    seqs = [one.seq for one in history.requests]
    sums = [0.0] * len(seqs)
    for one in passes if seqs else ():
        index = min(bisect_right(seqs, one.seq), len(sums) - 1)
        held = sums[index]
        sums[index] = None if held is None or one.summarizer_tokens is None else held + one.summarizer_tokens
    return sums


@pytest.mark.parametrize("seed", range(40))
def test_a_pass_knows_the_shares_of_the_requests_around_it(seed):
    teller, lives = session(seed)
    history, told = at_once(teller, lives, PRICES)
    for one in told.passes:
        before = [request for request in told.requests if request.seq < one.seq][-1:]
        behind = [request for request in told.requests if request.seq > one.seq][:2]
        shares = [request.bill.cached_pct for request in (*before, *behind)]
        padded = ([None] if not before else []) + shares + [None] * (2 - len(behind))
        assert list(one.cached_shares_pct) == padded
        assert one.is_open == (len(behind) < 2)


def test_the_curve_keeps_a_bounded_number_of_points_and_its_ends():
    # Told by hand: a Teller writes every request down with all its messages, which no one asks here.
    lives = [
        RowLife(n + 1, n, n + 1, None, n % 60 + 1, False, False, is_reply=n % 2 == 1, at_seconds=n // 2 * 10.0)
        for n in range(6_000)
    ]
    told = tell_bills(BillsState(), read_history(lives, fixed_overhead_tokens=OVERHEAD), (), PRICES)
    curve = told.state.curve
    assert MOST_POINTS // 2 <= len(curve) <= MOST_POINTS + 1
    assert (curve[0].seq, curve[-1].seq) == (told.requests[0].seq, told.requests[-1].seq)
    assert curve[-1].running_tokens == told.requests[-1].running_tokens


def test_an_unknown_summarizer_behind_the_last_request_makes_the_bill_unknown_and_not_the_requests():
    teller = Teller(1)
    for _ in range(3):
        teller.append(False)
        teller.append(True)
    teller.seq += 1
    teller.passes = [HeldPass(1, teller.seq, 0.0, False, None)]
    _, told = at_once(teller, teller.row_lives(), PRICES)
    assert told.state.paid_tokens is None
    assert told.state.ahead_tokens is None
    assert told.state.totals.billed_tokens is not None
