"""Requests told from the lives of rows, held against the requests themselves, message by message."""

import pytest

from compaction.cache_prices import CachePrices
from compaction.prompt_cache import bill_measured, bill_requests, measure_requests
from compaction.request_history import RowLife, read_history
from tests.compaction.told_sessions import OVERHEAD, Teller

PRICES = CachePrices("test", 0.1, 1.25, 300, True, 50, 10)
STRICT = CachePrices("strict", 0.1, 1.25, 100, False, 50, 10)


@pytest.mark.parametrize("seed", range(150))
def test_requests_told_from_lives_are_measured_as_the_requests_themselves(seed):
    teller = Teller(seed).tell(80)
    history = read_history(teller.row_lives(), fixed_overhead_tokens=OVERHEAD)
    measured = [one.as_sent for one in history.requests]
    assert measured == list(measure_requests(teller.requests))
    for prices in (PRICES, STRICT):
        assert list(bill_measured(measured, prices)) == list(bill_requests(teller.requests, prices))


@pytest.mark.parametrize("seed", range(40))
def test_without_passes_a_session_only_grows_and_loses_what_people_took_back(seed):
    teller = Teller(seed)
    teller.undo = teller.rewind = lambda: None
    teller.tell(80)
    history = read_history(teller.row_lives(), fixed_overhead_tokens=OVERHEAD)
    appended = {row["id"]: row for row in teller.rows.values() if not row["made"]}
    for one in history.requests:
        tokens = sum(row["tokens"] for row in appended.values() if row["born"] < one.seq)
        assert one.without_passes.sent_tokens == tokens + OVERHEAD
    common = [one.without_passes.common_tokens for one in history.requests]
    assert common == [0, *(one.without_passes.sent_tokens for one in history.requests)][: len(common)]


def test_a_reset_begins_both_ways_anew():
    lives = [
        RowLife(1, 0, 1, None, 10),
        RowLife(2, 1, 2, 5, 20, is_by_pass=True),
        RowLife(3, 2, 3, 6, 30, is_reply=True, at_seconds=1.0),
        RowLife(4, 3, 5, 6, 5, is_made=True),
        RowLife(5, 4, 7, None, 7),
        RowLife(6, 5, 8, None, 9, is_reply=True, at_seconds=2.0),
    ]
    history = read_history(lives, reset_seqs=(6,))
    assert [one.as_sent.sent_tokens for one in history.requests] == [30, 17]
    assert [one.without_passes.sent_tokens for one in history.requests] == [30, 17]


def test_a_change_tells_the_sizes_around_it_and_the_untouched_beginning():
    lives = [
        RowLife(1, 0, 1, None, 100),
        RowLife(2, 1, 2, 5, 40, is_by_pass=True),
        RowLife(3, 2, 5, None, 15, is_made=True),
        RowLife(4, 3, 3, None, 60),
        RowLife(5, 4, 4, None, 20, is_reply=True),
    ]
    (change,) = read_history(lives, fixed_overhead_tokens=7).changes
    assert (change.seq, change.tokens_before, change.tokens_after, change.prefix_tokens) == (5, 227, 202, 107)


def test_pieces_of_one_answer_are_one_request():
    lives = [RowLife(1, 0, 1, None, 10), *(RowLife(n, n - 1, n, None, 5, is_reply=True) for n in (2, 3, 4))]
    assert [one.reply_id for one in read_history(lives).requests] == [2]


def test_a_session_without_rows_has_no_requests():
    history = read_history(())
    assert (history.requests, history.changes) == ((), ())
