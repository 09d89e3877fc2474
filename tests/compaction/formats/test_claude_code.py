"""Claude Code sessions: chains of parents, answers in several lines, compactions, sub-agents."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_reading import BUGS, Read, problem_kinds, read, read_one, texts, write_lines

from compaction.formats.events import PassRecorded, ProblemKind, RowAppended, RowsRewound, TurnEnded
from compaction.messages import ImagePart, Role, RowKind, TextPart


def record(kind: str, uuid: str, parent: str | None, content: object, **more) -> dict:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    base = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "timestamp": "2026-03-01T10:00:00Z"}
    return {**base, "message": message, **more}


def user(uuid: str, parent: str | None, content: object = "", **more) -> dict:
    return record("user", uuid, parent, content or f"says {uuid}", **more)


def assistant(uuid: str, parent: str | None, content: object = "", message_id: str = "", **more) -> dict:
    blocks = content or [{"type": "text", "text": f"answers {uuid}"}]
    return record("assistant", uuid, parent, blocks, message={"id": message_id or f"m-{uuid}", "model": "opus"}, **more)


def call(call_id: str, name: str = "Bash", **given) -> list[dict]:
    return [{"type": "tool_use", "id": call_id, "name": name, "input": given}]


def result(uuid: str, parent: str, call_id: str, content: object = "done", **more) -> dict:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return user(uuid, parent, [block], **more)


def boundary(uuid: str, logical: str | None, **meta) -> dict:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": uuid,
        "parentUuid": None,
        "logicalParentUuid": logical,
        "sessionId": "s1",
        "compactMetadata": {"trigger": "auto", "preTokens": 150000, **meta},
    }


def summary(uuid: str, parent: str | None) -> dict:
    return user(uuid, parent, f"This session is being continued: {uuid}", isCompactSummary=True)


@pytest.fixture
def session(tmp_path):
    """Reads the one session that these records make up."""

    def make(*records: dict) -> Read:
        found, make.report = read_one(write_lines(tmp_path / "s1.jsonl", *records))
        return found

    return make


def ids(rows) -> list[str]:
    return [row.foreign_id for row in rows]


def test_a_conversation_is_read_in_order_with_its_facts(session):
    found = session(user("u1", None, cwd="/home/dev", version="2.1"), assistant("a1", "u1"))
    assert (found.session.foreign_id, found.session.source) == ("s1", "claude-code")
    assert (found.session.cwd, found.session.model, json.loads(found.session.extras)) == (
        "/home/dev",
        "opus",
        {"version": "2.1"},
    )
    assert texts(found.live) == ["says u1", "answers a1"]
    assert [row.by_person for row in found.rows] == [True, False]


def test_t01_usage_is_counted_once_for_an_answer_written_as_three_lines():
    found, _ = read_one(BUGS / "T01_same_message_id_three_lines.jsonl")
    (row,) = found.rows
    assert (row.input_tokens, row.cache_read_tokens, row.output_tokens) == (6, 16906, 185)
    assert (row.message.reasoning, row.message.text, row.message.tool_calls[0].name) == ("t", "x", "Glob")
    assert len(json.loads(row.raw)) == 3


def test_an_answer_in_two_branches_is_two_rows_and_its_usage_counts_once(session):
    usage = {"input_tokens": 7, "output_tokens": 1}
    answers = [assistant(uuid, parent, message_id="m") for uuid, parent in (("a1", "u1"), ("a2", "u2"))]
    for answer in answers:
        answer["message"]["usage"] = usage
    found = session(user("u0", None), user("u1", "u0"), answers[0], user("u2", "u0"), answers[1])
    assert [row.input_tokens for row in found.rows if row.message.role is Role.ASSISTANT] == [7, None]


def test_parallel_calls_are_one_row_and_each_result_is_a_row_of_role_tool(session):
    found = session(
        user("u1", None),
        assistant("a1", "u1", call("c1"), "m"),
        assistant("a2", "a1", call("c2"), "m"),
        {"type": "progress", "uuid": "p1", "parentUuid": "a2", "data": {"type": "hook_progress"}},
        result("r1", "a1", "c1"),
        result("r2", "a2", "c2"),
        assistant("a3", "r2"),
    )
    assert ids(found.live) == ["u1", "a1", "r1", "r2", "a3"]
    assert [each.id for each in found.live[1].message.tool_calls] == ["c1", "c2"]
    assert [row.message.tool_call_id for row in found.live[2:4]] == ["c1", "c2"]
    assert {row.message.role for row in found.live[2:4]} == {Role.TOOL}
    assert found.rewound == []


def test_a_line_of_an_answer_that_follows_a_result_still_belongs_to_the_answer(session):
    found = session(
        user("u1", None),
        assistant("a1", "u1", call("c1"), "m"),
        result("r1", "a1", "c1"),
        assistant("a2", "r1", call("c2"), "m"),
        result("r2", "a2", "c2"),
    )
    assert ids(found.live) == ["u1", "a1", "r1", "r2"]
    assert len(found.live[1].message.tool_calls) == 2


def test_several_results_and_words_in_one_record_are_rows_of_their_own(session):
    blocks = [{"type": "tool_result", "tool_use_id": each, "content": each} for each in ("c1", "c2")]
    found = session(
        user("u1", None),
        assistant("a1", "u1", [*call("c1"), *call("c2")]),
        user("r", "a1", [*blocks, {"type": "text", "text": "and go on"}]),
    )
    assert ids(found.live) == ["u1", "a1", "r", "r.2", "r.3"]
    assert texts(found.live)[2:] == ["c1", "c2", "and go on"]


def test_thinking_is_reasoning_and_pictures_take_the_providers_form(session):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    thought = [{"type": "thinking", "thinking": "hm", "signature": "x"}]
    found = session(
        user("u1", None, [{"type": "text", "text": "see"}, picture]),
        assistant("a1", "u1", thought, "m"),
        assistant("a2", "a1", message_id="m"),
    )
    assert found.live[1].message.reasoning == "hm"
    text, image = found.live[0].message.content
    assert (text, type(image)) == (TextPart("see"), ImagePart)
    assert json.loads(image.raw)["image_url"]["url"] == "data:image/png;base64,QUJD"


def test_going_back_rewinds_the_dead_branch_just_before_the_new_one(session):
    found = session(user("u1", None), assistant("a1", "u1"), user("u2", "a1"), assistant("a2", "u2"), user("u3", "a1"))
    assert [type(event) for event in found.events] == [RowAppended] * 4 + [RowsRewound, RowAppended]
    assert found.rewound == ["u2", "a2"]
    assert ids(found.live) == ["u1", "a1", "u3"]


def test_a_new_beginning_rewinds_all(session):
    found = session(user("u1", None), assistant("a1", "u1"), user("u2", None), assistant("a2", "u2"))
    assert ids(found.live) == ["u2", "a2"]


def test_a_side_branch_does_not_take_the_conversation_with_it_that_goes_on(session):
    found = session(
        user("u1", None),
        assistant("a1", "u1"),
        user("u2", "a1"),
        assistant("a2", "u2"),
        user("queued", "a1"),
        user("u3", "a2"),
    )
    assert ids(found.live) == ["u1", "a1", "u2", "a2", "u3"]
    assert found.rewound == ["queued"]


def test_files_without_any_parent_are_read_in_the_order_of_lines(session):
    found = session(user("u1", None), assistant("a1", None), user("u2", None))
    assert ids(found.live) == ["u1", "a1", "u2"]


def test_an_unknown_parent_is_told_and_the_line_before_is_taken(session):
    found = session(user("u1", None), assistant("a1", "u1"), user("u2", "gone"), assistant("a2", "u2"))
    assert ids(found.live) == ["u1", "a1", "u2", "a2"]
    assert session.report.counts == {ProblemKind.ORPHAN_PARENT: 1}
    assert session.report.problems[0].line == 3


def test_i10_rows_before_the_boundary_are_kept_and_the_summary_is_a_summary():
    found, _ = read(BUGS / "I10_compact_boundary.jsonl")
    main, side = found
    assert texts(main.rows)[0] == "before boundary"
    (event,) = main.passes
    assert (event.archived, event.trigger, event.tokens_before, event.line) == (("a1", "a2"), "auto", 150000, 3)
    assert event.inserted[0].kind is RowKind.BATCH_SUMMARY
    assert ids(main.live) == ["a4", "a5"]
    assert (side.session.parent_foreign_id, side.session.parent_link) == ("s1", "subagent")


def test_a_compaction_keeps_the_messages_it_preserves_behind_its_summary(session):
    found = session(
        user("u1", None),
        assistant("a1", "u1"),
        user("u2", "a1"),
        boundary("b", "a2", preservedMessages={"uuids": ["u2", "a2"]}, postTokens=9000, durationMs=1200),
        summary("sum", "b"),
        assistant("a2", "sum"),
        user("u3", "a2"),
    )
    assert texts(found.rows) == ["says u1", "answers a1", "says u2", "answers a2", "says u3"]
    (event,) = found.passes
    assert (event.archived, event.before) == (("u1", "a1"), "u2")
    assert (event.tokens_after, event.duration_ms) == (9000, 1200)
    assert ids(found.live) == ["sum", "u2", "a2", "u3"]


def test_a_preserved_segment_is_walked_from_its_tail_to_its_head(session):
    found = session(
        user("u1", None),
        assistant("a1", "u1"),
        user("u2", "a1"),
        assistant("a2", "u2"),
        boundary("b", "a2", preservedSegment={"headUuid": "u2", "anchorUuid": "sum", "tailUuid": "a2"}),
        summary("sum", "b"),
        user("u3", "a2"),
    )
    assert ids(found.live) == ["sum", "u2", "a2", "u3"]
    assert found.rewound == []


def test_two_compactions_archive_the_first_summary_with_the_second(session):
    found = session(
        user("u1", None),
        boundary("b1", "u1"),
        summary("s1", "b1"),
        user("u2", "s1"),
        boundary("b2", "u2"),
        summary("s2", "b2"),
    )
    assert [event.archived for event in found.passes] == [("u1",), ("s1", "u2")]
    assert ids(found.live) == ["s2"]


def test_older_versions_compact_without_a_boundary(session):
    found = session(user("u1", None), assistant("a1", "u1"), summary("sum", None), user("u2", "sum"))
    (event,) = found.passes
    assert (event.archived, event.trigger, event.tokens_before) == (("u1", "a1"), None, None)
    assert ids(found.live) == ["sum", "u2"]


def test_a_boundary_whose_summary_is_missing_still_archives(session):
    found = session(user("u1", None), boundary("b", "u1"), user("u2", "b"))
    assert [(event.archived, event.inserted) for event in found.passes] == [(("u1",), ())]
    assert ids(found.live) == ["u2"]


def test_titles_are_no_compactions(session):
    found = session(
        {"type": "summary", "summary": "Fix the parser", "leafUuid": "a1"}, user("u1", None), assistant("a1", "u1")
    )
    assert (found.session.title, found.passes) == ("Fix the parser", [])


@pytest.mark.parametrize(
    "content",
    [
        "<command-name>/compact</command-name>",
        "<local-command-stdout>ok</local-command-stdout>",
        "<local-command-caveat>Caveat</local-command-caveat>",
        "<task-notification>done</task-notification>",
        [{"type": "text", "text": "[Request interrupted by user for tool use]"}],
    ],
)
def test_what_a_program_says_as_user_is_not_a_persons(session, content):
    found = session(user("u1", None), user("u2", "u1", content))
    assert [row.by_person for row in found.rows] == [True, False]


def test_a_persons_words_beside_injected_ones_are_a_persons(session):
    injected = {"type": "text", "text": "<ide_opened_file>a.py</ide_opened_file>"}
    found = session(
        user("u1", None, [injected, {"type": "text", "text": "what is this?"}]), user("u2", "u1", "x", isMeta=True)
    )
    assert [row.by_person for row in found.rows] == [True, False]


def test_turns_end_where_the_file_says_so(session):
    ended = {
        "type": "system",
        "subtype": "turn_duration",
        "uuid": "t",
        "parentUuid": "a1",
        "timestamp": "2026-03-01T10:00:09Z",
    }
    hook = {**ended, "subtype": "stop_hook_summary", "uuid": "t0"}
    found = session(
        user("u1", None),
        assistant("a1", "u1"),
        hook,
        {**ended, "parentUuid": "t0"},
        user("u2", "t"),
        user("u3", "u2", "[Request interrupted by user]"),
    )
    assert [event.interrupted for event in found.events if isinstance(event, TurnEnded)] == [False, True]


def test_error_messages_of_the_program_are_no_rows(session):
    error = assistant("e", "u1", isApiErrorMessage=True)
    found = session(user("u1", None), error, assistant("a1", "e"))
    assert ids(found.live) == ["u1", "a1"]
    assert session.report.counts == {ProblemKind.NOT_MODEL_BOUND: 1}


def test_queued_words_and_attached_text_reach_the_model(session):
    queued = {
        "type": "attachment",
        "uuid": "q",
        "parentUuid": "u1",
        "attachment": {"type": "queued_command", "prompt": "wait"},
    }
    edited = {
        "type": "attachment",
        "uuid": "e",
        "parentUuid": "q",
        "attachment": {"type": "edited_text_file", "snippet": "1 x"},
    }
    found = session(
        user("u1", None), queued, edited, {"type": "attachment", "uuid": "z", "attachment": {"type": "todo"}}
    )
    assert [(row.message.text, row.by_person) for row in found.rows[1:]] == [("wait", True), ("1 x", False)]
    assert session.report.counts == {ProblemKind.NOT_MODEL_BOUND: 1}


def test_i04_unknown_entries_are_counted_shown_and_never_fatal():
    found, report = read_one(BUGS / "I04_unknown_entry_types.jsonl")
    assert texts(found.rows) == ["hi", "no type", "ok"]
    unknown = [problem.detail for problem in report.problems if problem.kind is ProblemKind.UNKNOWN_TYPE]
    assert unknown[0].startswith("type 'zz-future': {") and '"x":' in unknown[0]
    assert unknown[1] == "block of type 'hologram'"
    assert report.counts[ProblemKind.NOT_MODEL_BOUND] == 2


def test_i07_missing_keys_give_defaults_and_warnings():
    found, report = read_one(BUGS / "I07_missing_keys.jsonl")
    assert texts(found.rows) == ["x", "x"]
    assert ids(found.rows) == ["k1", "line-2"]
    assert problem_kinds(report) == {ProblemKind.MISSING_KEY, ProblemKind.REPEATED_RECORD, ProblemKind.NOT_MODEL_BOUND}
    assert report.lines == 8


def test_a_record_written_twice_is_one_row(session):
    found = session(user("u1", None), user("u1", None), assistant("a1", "u1"))
    assert ids(found.live) == ["u1", "a1"]
    assert session.report.counts == {ProblemKind.REPEATED_RECORD: 1}


def test_i13_sub_agents_are_linked_to_the_very_call_and_none_is_lost():
    found, _ = read(BUGS / "I13_subagent" / "parent.jsonl")
    parent, linked, loose = found
    assert (linked.session.parent_foreign_id, linked.session.parent_link) == ("s1", "subagent")
    assert linked.session.parent_call_id == "toolu_x" == parent.rows[1].message.tool_calls[0].id
    assert texts(linked.rows) == ["look", "found 3"]
    assert (loose.session.parent_foreign_id, loose.session.parent_call_id) == ("s1", None)
    assert len({each.session.foreign_id for each in found}) == 3


def test_a_sub_agent_is_found_by_its_prompt_and_by_the_id_in_its_result(tmp_path):
    side = {"isSidechain": True}
    main = [
        user("u1", None),
        assistant("a1", "u1", [*call("c1", "Task", prompt="look"), *call("c2", "Task", prompt="other")]),
        user("x1", None, "look", **side),
        assistant("x2", "x1", **side),
        result("r2", "a1", "c2", toolUseResult={"agentId": "f00"}),
    ]
    write_lines(tmp_path / "s1.jsonl", *main)
    (tmp_path / "s1" / "subagents").mkdir(parents=True)
    write_lines(tmp_path / "s1" / "subagents" / "agent-f00.jsonl", user("y1", None, "rephrased", agentId="f00", **side))
    links = {each.session.foreign_id: each.session.parent_call_id for each in read(tmp_path / "s1.jsonl")[0]}
    assert links == {"s1": None, "s1/x1": "c1", "s1/f00": "c2"}


def test_the_summarisers_own_call_gives_the_compaction_its_prompt(tmp_path):
    write_lines(tmp_path / "s1.jsonl", user("u1", None), boundary("b", "u1"), summary("sum", "b"))
    agents = tmp_path / "s1" / "subagents"
    agents.mkdir(parents=True)
    for name, parent in (("acompact-1", "u1"), ("acompact-2", "elsewhere")):
        answer = assistant(f"{name}-a", f"{name}-u", isSidechain=True)
        write_lines(agents / f"agent-{name}.jsonl", user(f"{name}-u", parent, "Sum it up.", isSidechain=True), answer)
    main, *others = read(tmp_path / "s1.jsonl")[0]
    assert (main.passes[0].prompt, main.passes[0].model) == ("Sum it up.", "opus")
    assert [each.session.foreign_id for each in others] == ["s1/acompact-2"]


def test_a_file_of_a_sub_agent_alone_is_a_child_session(tmp_path):
    path = write_lines(tmp_path / "agent-f00.jsonl", user("y1", None, isSidechain=True, agentId="f00"))
    found, _ = read_one(path)
    assert (found.session.foreign_id, found.session.parent_foreign_id) == ("s1/f00", "s1")


def test_two_sessions_in_one_file_are_one_conversation_under_the_files_name(tmp_path):
    path = write_lines(tmp_path / "s2.jsonl", user("u1", None), assistant("a1", "u1", sessionId="s2"))
    found, _ = read_one(path)
    assert (found.session.foreign_id, len(found.live)) == ("s2", 2)


def test_a_grown_file_gives_known_rows_their_known_ids(tmp_path):
    records = [user("u1", None), assistant("a1", "u1"), {**user("", "a1", "no uuid"), "uuid": None}]
    before, _ = read_one(write_lines(tmp_path / "s1.jsonl", *records))
    more = [user("u2", "a1"), boundary("b", "u2"), summary("sum", "b")]
    after, _ = read_one(write_lines(tmp_path / "s1.jsonl", *records, *more))
    assert ids(after.rows)[:3] == ids(before.rows) == ["u1", "a1", "line-3"]
    assert after.session.foreign_id == before.session.foreign_id


def test_a_session_without_an_id_keeps_its_derived_one_as_it_grows(tmp_path):
    records = [{**user("u1", None), "sessionId": None}, {**assistant("a1", "u1"), "sessionId": None}]
    before, _ = read_one(write_lines(tmp_path / "x.jsonl", records[0]))
    after, _ = read_one(write_lines(tmp_path / "y.jsonl", *records))
    assert before.session.foreign_id == after.session.foreign_id


@pytest.mark.parametrize("content", [None, 7, [], [["nested"]], {"type": "text", "text": "x"}, [7], [{"type": "text"}]])
def test_odd_content_becomes_a_row_with_a_problem(session, content):
    odd = user("u2", "u1")
    odd["message"]["content"] = content
    found = session(user("u1", None), odd)
    assert ids(found.live) == ["u1", "u2"]
    assert session.report.counts and all(not problem.skipped for problem in session.report.problems)
    assert {problem.line for problem in session.report.problems} == {2}


def test_a_corrupt_line_marks_the_session_damaged_and_a_cut_last_one_does_not(tmp_path):
    path = write_lines(tmp_path / "s1.jsonl", user("u1", None), assistant("a1", "u1"))
    good = path.read_text(encoding="utf-8")
    path.write_text(good + '{"type": "user", "uu', encoding="utf-8")
    cut, report = read_one(path)
    assert (cut.session.is_damaged, report.counts) == (False, {ProblemKind.TRUNCATED_LAST_LINE: 1})
    path.write_text('{"cut\n' + good, encoding="utf-8")
    damaged, report = read_one(path)
    assert (damaged.session.is_damaged, report.problems[0].line) == (True, 1)
    assert len(damaged.rows) == 2


def test_only_pass_events_of_compactions_are_passes(session):
    found = session(
        user("u1", None), {"type": "system", "subtype": "microcompact_boundary", "uuid": "x", "parentUuid": "u1"}
    )
    assert not [event for event in found.events if isinstance(event, PassRecorded)]


@st.composite
def trees(draw) -> list[dict]:
    """Records under any earlier ones, with progress between them, compactions among them, and beginnings anew."""
    records: list[dict] = []
    for number in range(draw(st.integers(1, 25))):
        earlier = [each["uuid"] for each in records if each["type"] != "system"]
        parent = draw(st.sampled_from([*earlier[-1:] * 3, *earlier, None])) if earlier else None
        uuid = f"r{number}"
        kind = draw(st.sampled_from(["user", "assistant", "assistant", "progress", "compaction"]))
        if kind == "compaction" and parent:
            records += [boundary(f"b{number}", parent), summary(uuid, f"b{number}")]
        elif kind == "progress":
            records.append({"type": "progress", "uuid": uuid, "parentUuid": parent, "data": {}})
        else:
            records.append(assistant(uuid, parent) if kind == "assistant" else user(uuid, parent))
    return records


def ancestors(records: list[dict]) -> list[str]:
    """The newest message and what it stands under, oldest first, to the newest compaction."""
    by_uuid = {each["uuid"]: each for each in records}
    said = [each for each in records if each["type"] in ("user", "assistant")]
    found: list[str] = []
    record = said[-1] if said else None
    while record is not None and record.get("subtype") != "compact_boundary":
        found += [record["uuid"]] if record["type"] != "progress" else []
        record = by_uuid.get(record["parentUuid"])
    return found[::-1]


@given(trees())
def test_the_live_rows_are_the_newest_message_and_its_ancestors_whatever_the_tree(tmp_path_factory, records):
    path = write_lines(tmp_path_factory.mktemp("tree") / "s1.jsonl", *records)
    if not any(each.get("parentUuid") and each["type"] in ("user", "assistant") for each in records):
        return  # without any link the order of lines is the chain
    live = [row.foreign_id for each in read(path)[0] for row in each.live]
    assert live == ancestors(records)
