"""Head, middle and tail (ENGINE 3)."""

from compaction.budgets import TailBudget
from compaction.messages import RowKey, RowKind
from compaction.transcript import ListTranscript
from compaction.zones import find_zones
from tests.compaction.transcripts import assistant, call, chat, result, rows_of, system, user, with_kind

BIG = 100_000


def zones(rows, budget=100, ceiling=None, protect=3, users=1, head_limit=BIG):
    tail = TailBudget(budget, ceiling if ceiling is not None else int(budget * 1.5))
    return find_zones(ListTranscript(rows), protect, users, head_limit, tail)


def test_the_head_is_extended_to_the_end_of_the_turn_it_lands_in():
    rows = rows_of(
        system(),
        user("q1"),
        assistant("", call("1")),
        result("1"),
        assistant("", call("2")),
        result("2"),
        assistant("a1"),
        user("q2"),
        assistant("a2"),
    )
    assert zones(rows).head_end == rows[6].key


def test_the_head_covers_two_turns_when_the_opening_rows_reach_into_the_second():
    rows = chat(10)
    assert zones(rows).head_end == rows[4].key


def test_a_first_turn_over_the_limit_is_cut_at_the_last_complete_edge():
    rows = rows_of(
        system(),
        user("q1"),
        assistant("", call("1")),
        result("1", "x" * 400),
        assistant("", call("2")),
        result("2", "x" * 4000),
        assistant("a1"),
        user("q2"),
        assistant("a2"),
    )
    assert zones(rows, head_limit=300).head_end == rows[3].key


def test_the_system_prompt_and_the_first_request_are_in_the_head_however_large():
    rows = rows_of(system("s" * 4000), user("q" * 4000), assistant("a1"), user("q2"), assistant("a2"))
    assert zones(rows, head_limit=100).head_end == rows[1].key


def test_a_summary_is_never_part_of_the_head():
    rows = list(chat(10))
    rows[3] = with_kind(rows[3])
    assert zones(rows).head_end == rows[2].key


def test_below_the_tail_budget_there_is_no_middle():
    rows = chat(8)
    behind_head = sum(row.tokens for row in rows[5:])
    assert not zones(rows, budget=behind_head, ceiling=behind_head).has_middle
    assert zones(rows, budget=behind_head - 60, ceiling=behind_head - 60).has_middle


def test_the_tail_starts_at_the_first_row_of_a_turn_and_stays_within_the_ceiling():
    rows = chat(20)
    found = zones(rows, budget=100, ceiling=150)
    start = next(row for row in rows if row.key == found.tail_start)
    assert start.opens_turn
    assert 100 <= found.tail_tokens <= 150


def test_the_turn_that_crosses_the_budget_is_left_out_when_it_does_not_fit_the_ceiling():
    rows = rows_of(
        system(),
        user("q1"),
        assistant("a1"),
        user("q2"),
        assistant("w " * 2000),
        user("q3"),
        assistant("w " * 100),
    )
    found = zones(rows, budget=500, protect=2)
    assert found.tail_start == rows[5].key
    assert found.middle_rows == 2


def test_rows_of_neighbouring_requests_stay_in_one_tail_turn():
    rows = rows_of(system(), user("q1"), assistant("a1"), *[user(f"part {n}") for n in range(3)], assistant("w " * 50))
    found = zones(rows, budget=10, ceiling=500, protect=2)
    assert found.tail_start == rows[3].key


def test_the_wanted_number_of_user_rows_is_in_the_tail_whatever_the_ceiling():
    rows = chat(20)
    assert zones(rows, budget=1, ceiling=160, users=3).tail_rows == 6
    assert zones(rows, budget=1, ceiling=100, users=3).tail_rows == 6
    assert zones(rows, budget=1, ceiling=20, users=3).is_tail_cut


def test_a_newest_turn_over_the_ceiling_is_reported_as_cut():
    rows = rows_of(system(), user("q1"), assistant("a1"), user("q2"), assistant("w " * 2000))
    found = zones(rows, budget=100, protect=2)
    assert found.is_tail_cut
    assert found.tail_start is None


def test_the_tail_does_not_reach_back_over_a_summary():
    rows = list(chat(10))
    rows[10] = with_kind(rows[10], RowKind.BATCH_SUMMARY)
    assert zones(rows, budget=BIG).tail_start == rows[11].key


def test_zone_sizes_add_up_to_the_live_rows():
    rows = chat(30)
    found = zones(rows, budget=200)
    assert found.head_rows + found.middle_rows + found.tail_rows == len(rows)
    assert found.head_tokens + found.middle_tokens + found.tail_tokens == sum(row.tokens for row in rows)


def test_an_empty_session_has_empty_zones():
    found = zones(())
    assert (found.head_end, found.tail_start, found.has_middle) == (None, None, False)
    assert found.middle_start == RowKey(0, 0)
