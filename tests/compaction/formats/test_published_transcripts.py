"""Published transcripts, where a folder of them is named by HERMES_CORPUS: every file, counted here a second time.

The counting knows nothing of the readers: it looks for roles, blocks and marks in the files' own words.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from source_reading import Read, read

from compaction.formats.events import ProblemKind
from compaction.messages import Role

CORPUS = Path(os.environ["HERMES_CORPUS"])


def files(pattern: str) -> list[Path]:
    """Files of the corpus; a pattern that matches none is an error: then the corpus is not what the name says."""
    found = sorted(path for path in CORPUS.glob(pattern) if path.is_file())
    assert found, f"HERMES_CORPUS holds no {pattern}: {CORPUS}"
    return found


def name(path: Path) -> str:
    return str(path.relative_to(CORPUS))


def objects(path: Path) -> list[dict]:
    """The objects of a line-delimited file, damaged lines and comments left out."""
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def counted(found: list[Read]) -> dict[str, int]:
    """What was read: rows that are no summaries, calls, results, passes."""
    rows = [row for each in found for row in each.rows if row.foreign_id != "system"]
    return {
        "messages": len(rows),
        "calls": sum(len(row.message.tool_calls) for row in rows),
        "results": sum(row.message.role is Role.TOOL for row in rows),
        "passes": sum(len(each.passes) for each in found),
    }


def of_messages(messages: list[dict], passes: int = 0) -> dict[str, int]:
    calls = [message.get("tool_calls") or [] for message in messages]
    decoded = [json.loads(each) if isinstance(each, str) else each for each in calls]
    return {
        "messages": len(messages),
        "calls": sum(len(each) for each in decoded),
        "results": sum(message.get("role") == "tool" for message in messages),
        "passes": passes,
    }


def is_summary(message: dict) -> bool:
    content = message.get("content")
    return isinstance(content, str) and content.startswith("[CONTEXT COMPACTION")


# --- chat messages


@pytest.mark.parametrize("path", files("openai-chat/**/*.json"), ids=name)
def test_chat_files_hold_what_is_counted_in_them(path):
    value = json.loads(path.read_text(encoding="utf-8"))
    wrapped = [value] if isinstance(value, dict) else value if "traj" in value[0] else [{"messages": value}]
    runs = [list(run.get("traj") or run["messages"]) for run in wrapped]
    for run, wrapper in zip(runs, wrapped, strict=True):
        if "response" in wrapper:
            run.append(wrapper["response"]["choices"][0]["message"])
    found, report = read(path)
    assert [counted([each]) for each in found] == [of_messages(run) for run in runs]
    assert report.skipped_lines == 0


# --- Hermes


def of_export_line(line: dict) -> dict[str, int]:
    summaries = sum(is_summary(message) for message in line["messages"])
    return of_messages([message for message in line["messages"] if not is_summary(message)], summaries)


@pytest.mark.parametrize("path", files("hermes/**/*export*.jsonl"), ids=name)
def test_hermes_exports_hold_what_is_counted_in_them(path):
    lines = [segment for line in objects(path) for segment in line.get("segments") or [line]]
    found, report = read(path)
    assert [counted([each]) for each in found] == [of_export_line(line) for line in lines]
    assert report.counts == {}


@pytest.mark.parametrize("path", files("hermes/**/session_*.json"), ids=name)
def test_hermes_snapshots_hold_what_is_counted_in_them(path):
    value = json.loads(path.read_text(encoding="utf-8"))
    found, report = read(path)
    assert counted(found) == of_messages(value["messages"])
    assert (len(value["messages"]), report.counts) == (value["message_count"], {})


@pytest.mark.parametrize("path", files("hermes/real/*.jsonl"), ids=name)
def test_hermes_transcripts_hold_what_is_counted_in_them(path):
    found, _ = read(path)
    assert counted(found) == of_messages([line for line in objects(path) if "role" in line])


@pytest.mark.parametrize("path", files("hermes/**/state.db"), ids=name)
def test_hermes_stores_hold_each_message_once(path):
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        database.row_factory = sqlite3.Row
        rows = [dict(row) for row in database.execute("select * from messages order by id")]
    found, report = read(path)
    for each in found:
        own = [row for row in rows if row["session_id"] == each.session.foreign_id]
        # In these sessions no two messages say the same, so what says the same is a copy.
        said = {}
        for row in own:
            if not is_summary(row):
                said.setdefault((row["role"], row["content"], row["tool_calls"], row["tool_call_id"]), row)
        summaries = len({row["content"] for row in own if is_summary(row)})
        assert counted([each]) == of_messages(list(said.values()), summaries)
        rewound = [row for row in own if (row["active"], row["compacted"]) == (0, 0)]
        assert len(each.rewound) == len(rewound)
    assert report.counts == {}


# --- Claude Code


def sidechain(path: Path) -> bool:
    return path.name.startswith("agent-")


def spoken(records: list[dict]) -> list[dict]:
    return [record for record in records if record.get("type") in ("user", "assistant") and record.get("message")]


def blocks(record: dict, kind: str) -> list[dict]:
    content = record["message"].get("content")
    return [block for block in content if block.get("type") == kind] if isinstance(content, list) else []


def only_results(record: dict) -> bool:
    content = record["message"].get("content")
    return isinstance(content, list) and bool(content) and len(blocks(record, "tool_result")) == len(content)


def uuids(row) -> list[str]:
    raw = json.loads(row.raw)
    return [record["uuid"] for record in (raw if isinstance(raw, list) else [raw])]


def chain(records: list[dict]) -> set[str]:
    """The newest message and its ancestors, to the last compaction; other lines of their answers, and all results."""
    by_uuid = {record["uuid"]: record for record in records if record.get("uuid")}
    said = spoken(records)
    if not any(record.get("parentUuid") for record in said):
        return {record["uuid"] for record in said}
    found: set[str] = set()
    record = said[-1]
    while record is not None:
        found.add(record["uuid"])
        parent = by_uuid.get(record.get("parentUuid"))
        if record.get("isCompactSummary"):
            kept = (parent.get("compactMetadata") or {}).get("preservedMessages") or {}
            found.update(kept.get("uuids") or [])
            break
        record = parent
    for record in said:  # parallel calls: a line that hangs under another line of its own answer
        parent = by_uuid.get(record.get("parentUuid")) or {}
        while parent.get("type") == "progress":
            parent = by_uuid.get(parent.get("parentUuid")) or {}
        if parent.get("uuid") in found and record["message"].get("id", "-") == parent.get("message", {}).get("id"):
            found.add(record["uuid"])
    live = [record for record in said if record["uuid"] in found]
    calls = {block["id"] for record in live for block in blocks(record, "tool_use")}
    answers = (record for record in said if {block["tool_use_id"] for block in blocks(record, "tool_result")} & calls)
    return {record["uuid"] for record in [*live, *answers]}


MAIN = [path for path in files("claude-code/**/*.jsonl") if not sidechain(path)]


@pytest.mark.parametrize("path", MAIN, ids=name)
def test_claude_files_hold_what_is_counted_in_them(path):
    records = objects(path)
    said = spoken(records)
    main, *children = read(path)[0]
    everything = [*main.rows, *(row for event in main.passes for row in event.inserted)]
    assert {uuid for row in everything for uuid in uuids(row)} == {record["uuid"] for record in said}
    assert counted([main])["calls"] == sum(len(blocks(record, "tool_use")) for record in said)
    assert counted([main])["results"] == sum(len(blocks(record, "tool_result")) for record in said)
    assert counted([main])["passes"] == sum(bool(record.get("isCompactSummary")) for record in said)
    users = [row for row in main.rows if row.message.role is Role.USER]
    typed = [record for record in said if record["type"] == "user" and not only_results(record)]
    assert len(users) == sum(not record.get("isCompactSummary") for record in typed)
    beside = [each for each in files("claude-code/**/agent-*.jsonl") if each.parent.parent == path.with_suffix("")]
    assert len(children) == sum("acompact" not in each.name for each in beside)
    assert all(child.session.parent_call_id for child in children)


@pytest.mark.parametrize("path", MAIN, ids=name)
def test_claude_answers_count_their_usage_once(path):
    main = read(path)[0][0]
    by_message = {}
    for record in spoken(objects(path)):
        if record["type"] == "assistant" and record["message"].get("usage"):
            by_message[record["message"].get("id") or record["uuid"]] = record["message"]["usage"]
    wanted = sum(usage.get("input_tokens") or 0 for usage in by_message.values())
    assert sum(row.input_tokens or 0 for row in main.rows) == wanted


@pytest.mark.parametrize("path", MAIN, ids=name)
def test_the_live_rows_of_a_claude_file_are_the_chain_from_its_newest_message(path):
    main = read(path)[0][0]
    assert {uuid for row in main.live for uuid in uuids(row)} == chain(objects(path))
    assert len(main.live) == len({row.foreign_id for row in main.live})


@pytest.mark.parametrize("path", files("claude-code/**/agent-*.jsonl"), ids=name)
def test_claude_sub_agents_hold_what_is_counted_in_them(path):
    said = spoken(objects(path))
    (found,), report = read(path)
    assert {uuid for row in found.rows for uuid in uuids(row)} == {record["uuid"] for record in said}
    assert found.session.parent_link == "subagent"
    assert set(report.counts) <= {ProblemKind.NOT_MODEL_BOUND, ProblemKind.ORPHAN_PARENT}


@pytest.mark.parametrize("path", MAIN, ids=name)
def test_lines_that_give_no_row_are_counted(path):
    _, report = read(path)
    records = objects(path)
    quiet = ("user", "assistant", "summary")
    used = ("compact_boundary", "turn_duration", "stop_hook_summary")
    silent = [each for each in records if each.get("type") not in quiet and each.get("subtype") not in used]
    beside = [
        each
        for agent in files("claude-code/**/agent-*.jsonl")
        if agent.parent.parent == path.with_suffix("")
        for each in objects(agent)
        if each.get("type") not in quiet
    ]
    assert report.counts.get(ProblemKind.NOT_MODEL_BOUND, 0) == len(silent) + len(beside)
