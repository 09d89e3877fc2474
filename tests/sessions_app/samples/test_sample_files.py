"""The samples as files: in the forms of the programs they seem to come from."""

import json

import pytest
from django.core.management import CommandError, call_command
from sample_validity import assert_valid

from compaction.tokens import RoughCounter
from sessions_app.samples.catalogue import (
    CHINESE,
    COMPACTED,
    FAILING,
    LONG,
    failing_replies,
    sample_text,
    story_named,
)
from sessions_app.samples.many_rows import session_of_rows


@pytest.fixture
def short_rounds(checkout):
    return lambda rows: session_of_rows(story_named(LONG), rows, checkout, RoughCounter())


@pytest.mark.parametrize("name", [LONG, CHINESE, FAILING])
def test_an_export_is_one_line_with_the_session_and_its_messages(tell, counter, name):
    session = tell(name)
    (line,) = sample_text(name, session, counter).splitlines()
    facts = json.loads(line)
    assert facts["id"] == session.story.session_id and facts["title"] == session.story.title
    assert facts["message_count"] == len(facts["messages"]) == len(session.rows) - 1
    assert [message["id"] for message in facts["messages"]] == list(range(1, len(session.rows)))
    assert facts["messages"][-1]["timestamp"] == facts["ended_at"]
    for call in (call for message in facts["messages"] for call in message.get("tool_calls", [])):
        assert isinstance(json.loads(call["function"]["arguments"]), dict)


@pytest.fixture
def compacted(tell, counter):
    title, *records = map(json.loads, sample_text(COMPACTED, tell(COMPACTED), counter).splitlines())
    assert title["summary"] == tell(COMPACTED).story.title and title["leafUuid"] == records[-1]["uuid"]
    return records


def test_a_claude_file_hangs_together_by_parents_and_breaks_once(compacted):
    ids = [record["uuid"] for record in compacted]
    assert len(set(ids)) == len(ids)
    parents = [record["parentUuid"] for record in compacted]
    breaks = [place for place, (parent, before) in enumerate(zip(parents[1:], ids, strict=False)) if parent != before]
    assert parents[0] is None and len(breaks) == 1
    boundary, summary = compacted[breaks[0] + 1 : breaks[0] + 3]
    assert boundary["subtype"] == "compact_boundary" and boundary["logicalParentUuid"] == ids[breaks[0]]
    figures = boundary["compactMetadata"]
    assert figures["preTokens"] > 20_000 > figures["postTokens"] > 500 and figures["durationMs"] > 5_000
    assert summary["isCompactSummary"] and summary["parentUuid"] == boundary["uuid"]


def test_blocks_of_one_answer_share_its_id_and_its_usage(compacted):
    usages = {}
    for record in compacted:
        if record["type"] == "assistant":
            (block,) = record["message"]["content"]
            assert block["type"] in ("thinking", "text", "tool_use")
            usages.setdefault(record["message"]["id"], []).append(json.dumps(record["message"]["usage"]))
    assert any(len(lines) > 2 for lines in usages.values())
    assert all(len(set(lines)) == 1 for lines in usages.values())


def test_every_call_in_a_claude_file_is_answered_in_order(compacted):
    blocks = [block for record in compacted if "message" in record for block in content_of(record)]
    called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert called == answered and len(called) > 40
    assert {block["name"] for block in blocks if block["type"] == "tool_use"} >= {
        "Read",
        "Grep",
        "Bash",
        "Edit",
        "Write",
    }


def content_of(record):
    content = record["message"]["content"]
    return [] if isinstance(content, str) else content


@pytest.mark.parametrize("rows", [3, 4, 5, 6, 7, 8, 50, 729, 730, 731, 2_003])
def test_a_session_of_n_rows_has_n_rows_and_is_valid(short_rounds, rows):
    session = short_rounds(rows)
    assert len(session.rows) == rows
    # With an odd number left over, somebody asks twice in a row, as people do.
    assert_valid(session.rows, may_ask_twice=True)


@pytest.mark.parametrize("rows", [-1, 0, 1, 2])
def test_a_session_has_room_for_a_turn(short_rounds, rows):
    with pytest.raises(ValueError, match="at least 3 rows"):
        short_rounds(rows)


def test_the_command_writes_all_samples_the_same_way_twice(tmp_path):
    for folder in ("one", "two"):
        call_command("write_samples", str(tmp_path / folder))
    written = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}
    assert set(written) == {
        "release_review.jsonl",
        "chinese_search.jsonl",
        "flaky_summarizer.jsonl",
        "flaky_summarizer.replies.json",
        "stubborn_database.jsonl",
    }


def test_the_command_writes_a_session_of_many_rows(tmp_path):
    call_command("write_samples", str(tmp_path), rows=1_000)
    facts = json.loads((tmp_path / "1000_rows.jsonl").read_text())
    assert len(facts["messages"]) == 999 and facts["system_prompt"]


def test_the_command_refuses_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(CommandError):
        call_command("write_samples", str(tmp_path / "taken"))


def test_the_script_of_replies_is_the_json_that_replay_reads():
    from compaction.scripted import reply_from_script

    replies = [reply_from_script(entry, "the script") for entry in failing_replies()]
    assert {reply.error for reply in replies} >= {"timeout", "http_500"}
