"""Exports and snapshots of Hermes sessions."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from source_reading import DATA, kinds, read, read_one, said, texts, write_lines

from compaction.errors import InvalidSource
from compaction.formats.events import ProblemKind
from compaction.messages import Role, RowKind

SUMMARY = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\n## Goal\nship it"


def exported(session_id: str, messages: list[dict], **more) -> dict:
    return {"id": session_id, "source": "cli", "started_at": 1700000000.5, "messages": messages, **more}


def message(role: str, content: object, **more) -> dict:
    return {"role": role, "content": content, "timestamp": 1700000001.0, **more}


TALK = [message("user", "hi"), message("assistant", "hello")]


def test_each_line_is_a_session_with_its_facts(tmp_path):
    path = write_lines(
        tmp_path / "export.jsonl",
        exported("a", TALK, title="Greeting", model="m", cwd="/home/dev", system_prompt="Be brief.", input_tokens=12),
        exported("b", TALK),
    )
    (first, second), report = read(path)
    assert (first.session.foreign_id, second.session.foreign_id) == ("a", "b")
    assert (first.session.title, first.session.model, first.session.cwd) == ("Greeting", "m", "/home/dev")
    assert (first.session.started_at, json.loads(first.session.extras)) == (
        1700000000.5,
        {"source": "cli", "input_tokens": 12},
    )
    assert texts(first.live) == ["Be brief.", "hi", "hello"]
    assert texts(second.live) == ["hi", "hello"]
    assert (report.format, report.lines, report.counts) == ("hermes-export", 2, {})


def test_a_lineage_export_is_read_from_its_segments_and_not_twice(tmp_path):
    child_rows = [message("user", "hi"), message("assistant", SUMMARY), message("user", "and now?")]
    segments = [
        exported("p", TALK, end_reason="compression"),
        exported("c", child_rows, parent_session_id="p"),
    ]
    whole = exported("c", [*TALK, *child_rows], segments=segments, lineage_session_ids=["p", "c"])
    (parent, child), _ = read(write_lines(tmp_path / "lineage.jsonl", whole))
    assert texts(parent.live) == ["hi", "hello"]
    assert (child.session.parent_foreign_id, child.session.parent_link) == ("p", "compression")
    assert kinds(child.live) == [RowKind.MESSAGE, RowKind.BATCH_SUMMARY, RowKind.MESSAGE]
    assert child.passes[0].archived == ()


def test_calls_are_read_decoded_and_encoded(tmp_path):
    calls = [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    rows = [
        message("assistant", None, tool_calls=calls),
        message("tool", "a.py", tool_call_id="c1", tool_name="ls"),
        message("assistant", "", tool_calls=json.dumps(calls)),
    ]
    found, report = read_one(write_lines(tmp_path / "export.jsonl", exported("a", rows)))
    assert [each.message.tool_calls[0].id for each in (found.rows[0], found.rows[2])] == ["c1", "c1"]
    assert (found.rows[1].message.tool_call_id, found.rows[1].message.name) == ("c1", "ls")
    assert report.counts == {}


def test_reasoning_that_is_stored_twice_is_one_reasoning(tmp_path):
    row = message("assistant", "x", reasoning="because", reasoning_content="because")
    found, _ = read_one(write_lines(tmp_path / "export.jsonl", exported("a", [row])))
    assert found.rows[0].message.reasoning == "because"


def test_the_store_and_its_export_name_the_same_rows_alike(tmp_path):
    with closing(
        sqlite3.connect(f"file:{DATA / 'reference' / 'state_sample.db'}?mode=ro&immutable=1", uri=True)
    ) as database:
        database.row_factory = sqlite3.Row
        rows = database.execute(
            "select * from messages where active = 1 and session_id = '20261102_100000_batch1' order by id"
        )
        active = [{key: value for key, value in dict(row).items() if not isinstance(value, bytes)} for row in rows]
    for row in active:
        row["tool_calls"] = json.loads(row["tool_calls"]) if row["tool_calls"] else None
    path = write_lines(tmp_path / "export.jsonl", exported("20261102_100000_batch1", active))
    export, _ = read_one(path)
    store = next(
        each
        for each in read(DATA / "reference" / "state_sample.db")[0]
        if each.session.foreign_id == export.session.foreign_id
    )
    assert [row.foreign_id for row in export.live] == [
        row.foreign_id for row in store.live if row.foreign_id != "system"
    ]
    assert [said(row.message) for row in export.live] == [said(row.message) for row in store.live[1:]]


def test_a_session_without_an_id_is_told(tmp_path):
    line = exported("a", TALK)
    del line["id"]
    found, report = read_one(write_lines(tmp_path / "export.jsonl", line))
    assert found.session.foreign_id == "line-1"
    assert report.counts == {ProblemKind.MISSING_KEY: 1}


def test_a_line_that_cant_be_read_costs_only_itself(tmp_path):
    path = write_lines(tmp_path / "export.jsonl", exported("a", TALK), exported("b", TALK))
    path.write_text(path.read_text().replace('"messages"', '"mess', 1), encoding="utf-8")
    found, report = read(path)
    assert [each.session.foreign_id for each in found] == ["b"]
    assert report.problems[0].line == 1


def test_prompts_without_answers_are_recognised_and_refused(tmp_path):
    path = write_lines(
        tmp_path / "p.jsonl", *({"session_id": "a", "index": number, "text": "hi"} for number in range(2))
    )
    with pytest.raises(
        InvalidSource, match="recognised as a Hermes export of user prompts only; this format can't be read"
    ):
        read(path)


def snapshot(**more) -> dict:
    head = {
        "session_id": "20260726_130000_d",
        "model": "m",
        "platform": "telegram",
        "session_start": "2026-07-26T13:00:00",
    }
    return {**head, "system_prompt": "You are Hermes.", "tools": [], "message_count": 2, "messages": TALK, **more}


def test_a_snapshot_is_one_session_with_its_system_prompt_first(tmp_path):
    path = tmp_path / "session_x.json"
    path.write_text(json.dumps(snapshot(), indent=1), encoding="utf-8")
    found, report = read_one(path)
    assert (report.format, found.session.foreign_id, found.session.model) == (
        "hermes-snapshot",
        "20260726_130000_d",
        "m",
    )
    assert found.session.started_at == 1785070800
    assert [row.message.role for row in found.live] == [Role.SYSTEM, Role.USER, Role.ASSISTANT]


def test_a_snapshot_without_messages_or_id_is_told(tmp_path):
    path = tmp_path / "session_x.json"
    path.write_text(json.dumps(snapshot(session_id=None)), encoding="utf-8")
    found, report = read_one(path)
    assert (found.session.foreign_id, report.counts) == ("x", {ProblemKind.MISSING_KEY: 1})
    path.write_text(json.dumps(snapshot(messages=7)), encoding="utf-8")
    with pytest.raises(InvalidSource, match="no messages"):
        read(path)


def test_a_merged_summary_is_taken_out_of_a_picture_message(tmp_path):
    end = "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---"
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    content = [{"type": "text", "text": f"{SUMMARY}\n\n{end}\n\nwhat is this?"}, picture]
    found, _ = read_one(write_lines(tmp_path / "export.jsonl", exported("a", [message("user", content)])))
    summary, live = found.live
    assert (summary.kind, summary.message.text.endswith(end), summary.by_person) == (RowKind.BATCH_SUMMARY, True, False)
    assert (live.message.text, len(live.message.content), live.by_person) == ("what is this?", 2, True)


@pytest.mark.parametrize(
    "text",
    [
        "[CONTEXT COMPACTION - REFERENCE ONLY] Earlier turns were compacted",
        "[CONTEXT COMPACTION] Earlier turns in this conversation were compacted to save context space.",
        "[CONTEXT SUMMARY]: earlier work",
    ],
)
def test_summaries_of_older_builds_are_recognised(text, tmp_path):
    found, _ = read_one(write_lines(tmp_path / "export.jsonl", exported("a", [message("user", text)])))
    assert kinds(found.live) == [RowKind.BATCH_SUMMARY]


def test_a_summary_appended_to_an_older_text_is_taken_off_it(tmp_path):
    end = "--- END OF CONTEXT SUMMARY — respond to the message below, not the summary above ---"
    rows = [message("user", f"my question\n\n{SUMMARY}\n\n{end}"), message("user", f"he wrote: {SUMMARY}")]
    found, _ = read_one(write_lines(tmp_path / "export.jsonl", exported("a", rows)))
    assert texts(found.live) == [f"{SUMMARY}\n\n{end}", "my question", f"he wrote: {SUMMARY}"]
