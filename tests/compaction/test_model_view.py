"""The model view and what providers insist on (ENGINE 9)."""

from dataclasses import replace

from hypothesis import given

from compaction.messages import Message, Role, RowKind, TextPart
from compaction.model_view import EMPTY_REQUEST, OPENING_REQUEST, Profile, RepairKind, model_view
from compaction.provider_rules import violations
from compaction.turns import is_finished, split_turns
from tests.compaction.transcripts import assistant, call, result, rows_of, system, transcripts, user, with_kind


def view(*messages, profile=Profile.STRICT):
    return model_view(rows_of(*messages), profile)


def kinds(found):
    return [repair.kind for repair in found.repairs]


def test_neighbouring_users_become_one_message_and_the_rows_are_named():
    found = view(user("first"), user("second"), assistant("a"))
    assert found.messages == (user("first\n\nsecond"), assistant("a"))
    assert found.entries[0].row_ids == (0, 1)
    assert kinds(found) == [RepairKind.MERGED_NEIGHBOURS]


def test_the_free_profile_lets_neighbours_stay():
    assert len(view(user("first"), user("second"), profile=Profile.FREE).messages) == 2


def test_text_and_parts_merge_into_parts():
    merged = view(user("look:"), user((TextPart("at this"),)), assistant("a")).messages[0]
    assert merged.content == (TextPart("look:"), TextPart("at this"))


def test_results_without_a_call_and_calls_without_a_result_are_dropped():
    found = view(user("q"), result("lost"), assistant("text", call("1"), call("2")), result("2"), user("next"))
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "user"]
    assert [c.id for c in found.messages[1].tool_calls] == ["2"]
    assert set(kinds(found)) == {RepairKind.DROPPED_RESULT, RepairKind.DROPPED_CALL}


def test_an_open_last_call_is_left_alone():
    messages = (user("q"), assistant("", call("1"), call("2")), result("1"))
    assert view(*messages).messages == messages


def test_a_late_result_still_finds_its_call():
    found = view(user("q"), assistant("", call("1")), user("are you there?"), result("1"), assistant("done"))
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert RepairKind.MOVED_RESULT in kinds(found)


def test_ids_match_trimmed_and_missing_ids_never_match():
    found = view(user("q"), assistant("", call(" 1 ")), result("1"), assistant("", call(None)), result(None), user("x"))
    assert [message.role for message in found.messages] == ["user", "assistant", "tool", "user"]


def test_repeated_ids_are_paired_round_by_round():
    messages = (
        user("q"),
        assistant("", call("0")),
        result("0", "first"),
        assistant("", call("0")),
        result("0", "second"),
        assistant("done"),
    )
    assert view(*messages).messages == messages


def test_empty_messages_are_left_out_but_empty_results_stay():
    found = view(user("  "), user("q"), assistant("", call("1")), result("1", ""), assistant(None), system(""))
    assert [message.role for message in found.messages] == ["user", "assistant", "tool"]


def test_a_conversation_that_the_agent_opens_gets_a_user_in_front():
    assert view(system(), assistant("hello")).messages == (system(), user(OPENING_REQUEST), assistant("hello"))


def test_an_empty_request_between_two_answers_is_marked_instead_of_dropped():
    found = view(user("q"), assistant("a"), user("  "), assistant("b"))
    assert found.messages == (user("q"), assistant("a"), user(EMPTY_REQUEST), assistant("b"))
    assert kinds(found) == [RepairKind.FILLED_EMPTY]


def test_a_batch_summary_speaks_in_the_role_that_fits():
    rows = list(rows_of(user("q1"), assistant("a1"), assistant("the summary"), user("q2"), assistant("a2")))
    rows[2] = with_kind(rows[2], RowKind.BATCH_SUMMARY)
    merged = model_view(rows).messages
    assert [message.role for message in merged] == ["user", "assistant", "user", "assistant"]
    assert merged[2].text == "the summary\n\nq2"
    after_user = model_view([rows[0], rows[2], rows[3], rows[4]]).messages
    assert [message.role for message in after_user] == ["user", "assistant", "user", "assistant"]


def test_rows_are_not_changed_by_making_a_view():
    rows = rows_of(user("a"), user("b"), assistant("", call("1")), user("c"))
    before = [replace(row) for row in rows]
    model_view(rows)
    assert list(rows) == before


@given(transcripts())
def test_the_view_is_valid_for_each_profile(rows):
    for profile in Profile:
        assert violations(model_view(rows, profile).messages, profile) == ()


@given(transcripts())
def test_valid_input_comes_out_unchanged(rows):
    for profile in Profile:
        messages = model_view(rows, profile).messages
        again = model_view(rows_of(*messages), profile)
        assert again.messages == messages
        assert again.repairs == ()


@given(transcripts(min_turns=2))
def test_appending_after_a_finished_turn_leaves_the_former_view_a_prefix(rows):
    turns = list(split_turns(rows))
    for number in range(1, len(turns)):
        former = [row for turn in turns[:number] for row in turn]
        if is_finished(turns[number - 1]):
            before = model_view(former).messages
            assert model_view([*former, *turns[number]]).messages[: len(before)] == before


@given(transcripts())
def test_no_user_text_is_lost_in_the_view(rows):
    shown = "\n".join(message.text for message in model_view(rows).messages if message.role is Role.USER)
    for row in rows:
        if row.role is Role.USER and row.message.text.strip():
            assert row.message.text in shown


def test_the_rules_name_what_is_wrong():
    broken = (assistant("", call("1")), Message(Role.USER, ""), assistant("a"), assistant("b"), result("9"))
    rules = {violation.rule for violation in violations(broken)}
    assert rules == {"user_speaks_first", "no_empty", "calls_answered", "roles_alternate", "results_have_call"}
    assert violations((assistant("a"),))[0].rule == "user_speaks_first"
