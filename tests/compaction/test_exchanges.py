"""Exchanges and the cursor (ENGINE 4)."""

from compaction.exchanges import exchanges_from, past, resolve_cursor
from compaction.messages import Message, Role, RowKey, RowKind
from compaction.transcript import ListTranscript
from tests.compaction.transcripts import assistant, call, chat, result, rows_of, system, user, with_kind

START = RowKey(0, 0)


def found(rows, cursor=START, tail_start=None):
    return [[row.id for row in exchange.rows] for exchange in exchanges_from(ListTranscript(rows), cursor, tail_start)]


def test_an_exchange_is_the_agents_part_of_a_turn_and_needs_a_closing_row():
    rows = rows_of(user("q1"), assistant("", call("1")), result("1"), assistant("a1"), user("q2"), assistant("a2"))
    assert found(rows) == [[1, 2, 3]]


def test_an_exchange_never_holds_a_user_row_even_an_injected_one():
    rows = rows_of(user("q1"), assistant("a"), user("injected"), assistant("b"), user("q2"), injected={2})
    assert found(rows) == [[1], [3]]


def test_other_roles_close_an_exchange_too():
    rows = rows_of(user("q1"), assistant("a1"), Message(Role.DEVELOPER, "note"), assistant("a2"), system("late"))
    assert found(rows) == [[1], [3]]


def test_the_tail_is_never_entered():
    rows = chat(5)
    assert found(rows, tail_start=rows[5].key) == [[2], [4]]


def test_an_exchange_cut_by_the_tail_is_not_complete():
    rows = rows_of(user("q1"), assistant("", call("1")), result("1"), assistant("a1"), user("q2"))
    assert found(rows, tail_start=rows[3].key) == []


def test_a_summary_directly_behind_ends_the_search():
    rows = list(rows_of(user("q1"), assistant("a1"), assistant("a summary"), user("q2"), assistant("a2"), user("q3")))
    rows[2] = with_kind(rows[2], RowKind.BATCH_SUMMARY)
    assert found(rows) == []
    assert found(rows, past(rows[2].key)) == [[4]]


def test_results_that_stand_alone_are_passed_over():
    rows = rows_of(user("q1"), result("lost"), assistant("a1"), user("q2"))
    assert found(rows) == [[2]]


def test_a_call_is_not_torn_from_a_result_behind_the_closing_row():
    rows = rows_of(
        user("q1"),
        assistant("", call("1"), call("2")),
        result("1"),
        user("wait"),
        result("2"),
        assistant("a1"),
        user("q2"),
    )
    assert found(rows) == [[5]]


def test_a_call_that_is_never_answered_does_not_hold_its_exchange_back():
    rows = rows_of(user("q1"), assistant("", call("1")), user("stop"), assistant("stopped"), user("q2"))
    assert found(rows) == [[1], [3]]


def test_a_valid_cursor_is_kept():
    rows = chat(5)
    assert resolve_cursor(ListTranscript(rows), rows[4].key, rows[1].key, rows[9].key) == rows[4].key


def test_a_cursor_outside_the_middle_falls_back_to_the_newest_summary_in_it():
    rows = list(chat(8))
    rows[2] = with_kind(rows[2], RowKind.BATCH_SUMMARY)
    rows[6] = with_kind(rows[6])
    transcript = ListTranscript(rows)
    behind = RowKey(rows[6].position, rows[6].id + 1)
    for lost in (None, rows[0].key, rows[10].key, rows[15].key):
        assert resolve_cursor(transcript, lost, rows[1].key, rows[10].key) == behind


def test_without_a_summary_a_lost_cursor_is_the_start_of_the_middle():
    rows = chat(5)
    assert resolve_cursor(ListTranscript(rows), None, rows[3].key, None) == rows[3].key
