"""Chat messages of the OpenAI shape in all the wrappers they come in."""

from __future__ import annotations

import json

import pytest
from source_reading import BUGS, kinds, problem_kinds, read, read_one, texts, write_lines

from compaction.errors import InvalidSource
from compaction.formats.events import ProblemKind
from compaction.messages import ImagePart, Role, RowKind
from compaction.wire import message_to_openai

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "List the files."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    {"role": "assistant", "content": "There is a.py."},
]


def write(path, value):
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_a_bare_list_is_one_session_and_comes_back_as_it_was(tmp_path):
    found, report = read_one(write(tmp_path / "chat.json", MESSAGES))
    assert [message_to_openai(row.message) for row in found.rows] == MESSAGES
    assert (found.session.source, report.format, report.counts) == ("openai-chat", "openai-chat", {})
    assert [row.by_person for row in found.rows] == [False, True, False, False, False]


def test_a_request_gives_its_model_and_its_tools(tmp_path):
    request = {"model": "gpt-4o", "messages": MESSAGES, "tools": [{"type": "function", "function": {"name": "ls"}}]}
    found, _ = read_one(write(tmp_path / "request.json", request))
    assert found.session.model == "gpt-4o"
    assert json.loads(found.session.extras)["tools"] == request["tools"]
    assert found.session.fixed_overhead_tokens is None


def test_a_request_log_ends_with_the_response_and_what_it_used(tmp_path):
    usage = {"prompt_tokens": 90, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}
    answer = {
        "choices": [{"message": {"role": "assistant", "content": "Bye."}}],
        "usage": usage,
        "model": "m",
        "created": 1700000000,
    }
    log = {"messages": MESSAGES, "response": answer, "kwargs": {"temperature": 0}, "context_window": 200000}
    found, _ = read_one(write(tmp_path / "log.json", log))
    last = found.rows[-1]
    assert (last.message.text, last.input_tokens, last.output_tokens, last.cache_read_tokens) == ("Bye.", 90, 7, 64)
    assert (last.model, last.at, found.session.window_tokens) == ("m", 1700000000, 200000)
    assert message_to_openai(last.message) == {"role": "assistant", "content": "Bye."}


def test_a_list_of_runs_is_a_session_each_also_when_they_begin_alike(tmp_path):
    runs = [{"task_id": 3, "trial": trial, "reward": 1.0, "traj": MESSAGES} for trial in (0, 1)]
    found, _ = read(write(tmp_path / "runs.json", [*runs, runs[0]]))
    ids = [each.session.foreign_id for each in found]
    assert len(set(ids)) == 3 and all(each.startswith("3-") for each in ids)
    assert json.loads(found[0].session.extras)["reward"] == 1.0


def test_lines_of_conversations_are_a_session_each(tmp_path):
    found, report = read(BUGS / "E38_two_sessions_sentinels.jsonl")
    assert [each.session.foreign_id for each in found] == ["A", "B"]
    assert any("ALPHA-SENTINEL" in text for text in texts(found[0].rows))
    assert not any("ALPHA" in text for text in texts(found[1].rows))
    assert report.lines == 2


def test_a_damaged_line_among_conversations_is_told_and_the_others_are_read(tmp_path):
    path = write_lines(tmp_path / "chats.jsonl", {"messages": MESSAGES}, {"messages": MESSAGES[1:]})
    path.write_text(path.read_text() + '{"messages": [\n{"other": 1}\n', encoding="utf-8")
    found, report = read(path)
    assert len(found) == 2
    assert {problem.line: problem.kind for problem in report.problems} == {
        3: ProblemKind.UNPARSABLE_LINE,
        4: ProblemKind.UNKNOWN_TYPE,
    }


def test_a_session_without_an_id_keeps_its_own_as_its_file_grows(tmp_path):
    before, _ = read_one(write(tmp_path / "chat.json", MESSAGES))
    grown, _ = read_one(write(tmp_path / "chat.json", [*MESSAGES, {"role": "user", "content": "Thanks."}]))
    assert grown.session.foreign_id == before.session.foreign_id
    assert [row.foreign_id for row in grown.rows][:-1] == [row.foreign_id for row in before.rows]


def test_conversations_that_share_a_question_or_a_whole_opening_stay_apart(tmp_path):
    other_reply = [*MESSAGES[:2], {"role": "assistant", "content": "None."}]
    (tmp_path / "run").mkdir()
    paths = [write(tmp_path / "chat.json", MESSAGES), write(tmp_path / "copy.json", MESSAGES)]
    paths.append(write(tmp_path / "run" / "chat.json", other_reply))
    assert len({read_one(path)[0].session.foreign_id for path in paths}) == 3


def test_rows_that_say_the_same_are_rows_of_their_own(tmp_path):
    found, _ = read_one(write(tmp_path / "chat.json", [{"role": "user", "content": "go on"}] * 3))
    ids = [row.foreign_id for row in found.rows]
    assert len(set(ids)) == 3 and ids[1] == f"{ids[0]}.2"


def test_messages_in_block_form_are_taken_apart(tmp_path):
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a"}]}],
        },
    ]
    found, report = read_one(write(tmp_path / "blocks.json", {"system": "Be brief.", "messages": messages}))
    assert [row.message.role for row in found.rows] == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    said, result = found.rows[2].message, found.rows[3].message
    assert (said.reasoning, said.text, said.tool_calls[0].arguments) == ("hm", "I look.", '{"path":"."}')
    assert (result.tool_call_id, result.text) == ("c1", "a")
    assert report.counts == {}


def test_parts_that_hold_their_text_as_a_value_are_read(tmp_path):
    parts = [
        {"type": "reasoning", "value": "hm"},
        {"type": "text", "value": "I look."},
        {"type": "tool_call", "value": '{"name": "ls", "arguments": {"path": "."}}'},
        {"type": "tool_call", "value": "{broken"},
    ]
    found, report = read_one(write(tmp_path / "v1.json", [{"role": "assistant", "content": parts}]))
    message = found.rows[0].message
    assert (message.reasoning, message.text) == ("hm", "I look.")
    assert [(each.name, each.arguments) for each in message.tool_calls] == [("ls", '{"path":"."}'), ("", "{broken")]
    assert problem_kinds(report) == {ProblemKind.MISSING_CALL_ID, ProblemKind.ODD_SHAPE}


def test_old_function_calls_are_paired_by_their_order_and_come_back_as_they_were(tmp_path):
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
        {"role": "function", "name": "ls", "content": "a.py"},
    ]
    found, _ = read_one(write(tmp_path / "old.json", messages))
    assert found.rows[1].message.tool_calls[0].id == found.rows[2].message.tool_call_id is not None
    assert [message_to_openai(row.message) for row in found.rows] == messages


def test_times_and_numbers_beside_a_message_are_facts_and_not_part_of_it(tmp_path):
    message = {"role": "user", "content": "hi", "timestamp": "2026-03-01T10:00:00Z", "id": "m1", "x": 1}
    found, _ = read_one(write(tmp_path / "chat.json", [message]))
    assert found.rows[0].at == 1772359200
    assert message_to_openai(found.rows[0].message) == {"role": "user", "content": "hi", "x": 1}
    assert json.loads(found.rows[0].raw) == message


def test_s18_the_order_of_the_list_wins_over_equal_and_backward_times():
    found, _ = read_one(BUGS / "S18_equal_timestamps.json")
    assert texts(found.live)[-2:] == ["REAL newest question", "clock went back"]
    assert kinds(found.live) == [RowKind.MESSAGE] * 2 + [RowKind.MICRO_SUMMARY] + [RowKind.MESSAGE] * 2


def test_s10_and_u06_a_marker_keeps_the_kind_it_was_given():
    found, _ = read_one(BUGS / "S10_resume_from_marker.json")
    (event,) = found.passes
    assert (event.kind, event.archived) == (RowKind.MICRO_SUMMARY, ())
    assert found.live[2] == event.inserted[0]


def test_e35_a_summary_known_by_its_text_is_a_summary():
    found, _ = read_one(BUGS / "E35_stale_task_in_summary.json")
    assert sum(row.kind.is_summary for row in found.live) == 1


def test_e20_a_text_that_only_quotes_a_summary_is_a_message():
    found, _ = read_one(BUGS / "E20_self_quoting_summary.json")
    assert set(kinds(found.live)) == {RowKind.MESSAGE}


def test_u05_the_rows_before_a_compaction_are_all_there():
    given = json.loads((BUGS / "U05_after_compaction_history.json").read_text(encoding="utf-8"))["messages"]
    found, _ = read_one(BUGS / "U05_after_compaction_history.json")
    assert len(found.live) == len(given)
    assert texts(found.live)[1] == given[1]["content"]


def test_e04_missing_call_ids_are_told_and_match_no_other_call():
    given = json.loads((BUGS / "E04_tool_call_id_missing_null_empty.json").read_text(encoding="utf-8"))
    found, report = read_one(BUGS / "E04_tool_call_id_missing_null_empty.json")
    assert len(found.rows) == len(given)
    assert report.counts == {ProblemKind.MISSING_CALL_ID: 3}
    assert [row.message.tool_call_id for row in found.rows if row.message.role is Role.TOOL].count(None) == 3


def test_e06_arguments_that_are_no_json_stay_as_they_are():
    given = json.loads((BUGS / "E06_long_and_nonjson_arguments.json").read_text(encoding="utf-8"))
    found, _ = read_one(BUGS / "E06_long_and_nonjson_arguments.json")
    wanted = [call["function"]["arguments"] for message in given for call in message.get("tool_calls", ())]
    assert [call.arguments for row in found.rows for call in row.message.tool_calls] == wanted


def test_e07_what_providers_would_refuse_is_read_as_it_is():
    given = json.loads((BUGS / "E07_broken_on_import.json").read_text(encoding="utf-8"))
    found, _ = read_one(BUGS / "E07_broken_on_import.json")
    assert [message_to_openai(row.message) for row in found.rows] == given


def test_e30_pictures_are_pictures_and_data_addresses_in_text_are_text():
    found, _ = read_one(BUGS / "E30_data_uri_in_part_and_string.json")
    parts = [part for row in found.rows if isinstance(row.message.content, tuple) for part in row.message.content]
    assert sum(isinstance(part, ImagePart) for part in parts) == 1
    assert any("data:image" in text for text in texts(found.rows))


def test_records_that_are_no_objects_are_counted_with_their_place(tmp_path):
    found, report = read_one(write(tmp_path / "chat.json", [*MESSAGES, 7, None]))
    assert len(found.rows) == 5
    assert [problem.detail for problem in report.problems] == ["message 6: 7", "message 7: null"]


def test_a_file_without_messages_is_refused(tmp_path):
    path = write(tmp_path / "other.json", {"messages": []})
    with pytest.raises(InvalidSource, match="no transcript format"):
        read(path)
    assert read_one(path, format="openai-chat")[0].rows == []
