"""The first reading of a Claude Code file: an index of its records, and what it says about the session.

Of each record only what is needed to follow the conversation is kept, never its text, so a file of any size can be
read. The lines that become rows are fetched by their offsets in a second reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from compaction.formats.claude_records import (
    Boundary,
    Link,
    Record,
    RecordKind,
    blocks_of,
    message_of,
    read_boundary,
    read_record,
    text_of,
)
from compaction.formats.events import ProblemKind
from compaction.formats.json_lines import JsonLine, JsonLineReader
from compaction.formats.times import epoch_seconds
from compaction.formats.told_once import Tell
from compaction.wording import worded

_FACTS = ("cwd", "version", "gitBranch", "slug", "entrypoint")
_CALLING_TOOLS = ("Task", "Agent")


@dataclass(slots=True)
class Scan:
    """What the first reading found.

    records: in the order of the file, of all threads. boundaries: by line number. session_ids: with the number of
    records of each. titles: (leaf uuid, title). calls_by_agent, calls_by_prompt: which call started a sub-agent, by its
    id and by its prompt. first_prompts: the first user text of each thread, as its key.
    """

    records: list[Record | Link] = field(default_factory=list)
    uuids: set[str] = field(default_factory=set)
    boundaries: dict[int, Boundary] = field(default_factory=dict)
    session_ids: dict[str, int] = field(default_factory=dict)
    titles: list[tuple[str, str]] = field(default_factory=list)
    given_title: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    model: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    calls_by_agent: dict[str, str] = field(default_factory=dict)
    calls_by_prompt: dict[str, str] = field(default_factory=dict)
    first_prompts: dict[str, str] = field(default_factory=dict)
    lines: int = 0
    is_damaged: bool = False

    @property
    def threads(self) -> list[str]:
        """The threads that have rows, in order of their first record."""
        return list(dict.fromkeys(record.thread for record in self.records if isinstance(record, Record)))

    def title(self) -> str:
        """The session's title: one given to it, else the one whose last message is in the file, else any."""
        own = [title for leaf, title in self.titles if leaf in self.uuids]
        return self.given_title or next(reversed(own), "") or next((title for _, title in self.titles), "")


def scan(reader: JsonLineReader, tell: Tell, is_agent: bool = False) -> Scan:
    """Read all records of a file. Those that become no row are told with their line and reason.

    is_agent: the whole file is one sub-agent's conversation, so that its records are no side threads.
    """
    found = Scan()
    threads: dict[str, str] = {}
    repeats = _Repeats(reader)
    for line in reader.objects():
        value = line.value
        thread = "" if is_agent else _thread(value, threads)
        record = repeats.checked(line, read_record(line, thread, tell.at(line.number)), tell.at(line.number))
        _take_session(found, value)
        _take_title(found, value)
        if record is None:
            continue
        found.records.append(record)
        found.uuids.add(record.uuid)
        if isinstance(record, Record):
            _take_record(found, value, record)
        else:
            _take_progress(found, value)
    found.lines, found.is_damaged = reader.lines, reader.is_damaged
    return found


def prompt_key(text: str) -> str:
    """A short hash by which a sub-agent's first message is found among the prompts of calls."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:16]


def first_text(message: Mapping[str, object]) -> str:
    """The first text of a message; empty when it has none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return next((text_of(block.get("text")) for block in blocks_of(message) if block.get("type") == "text"), "")


class _Repeats:
    """Finds records whose uuid was there before: the same record again, or another one under a used uuid."""

    def __init__(self, reader: JsonLineReader) -> None:
        self._reader = reader
        self._offsets: dict[str, int] = {}

    def checked(self, line: JsonLine, record: Record | Link | None, tell: Tell) -> Record | Link | None:
        """The record; None when it repeats an earlier one; without its uuid when that names another record."""
        if not isinstance(record, Record) or not record.uuid:
            return record
        offset = self._offsets.setdefault(record.uuid, record.offset)
        if offset == record.offset:
            return record
        first = self._reader.value_at(offset)
        if message_of(first) == message_of(line.value) and first.get("subtype") == line.value.get("subtype"):
            tell.skip(ProblemKind.REPEATED_RECORD, worded("the record {!r} was there before", record.uuid[:60]))
            return None
        tell.note(ProblemKind.REPEATED_RECORD, worded("the uuid {!r} names another record too", record.uuid[:60]))
        return replace(record, uuid="")


def _thread(value: Mapping[str, object], threads: dict[str, str]) -> str:
    """The thread of a record: the sub-agent's id, or the first record of its chain where it has no id."""
    uuid = text_of(value.get("uuid"))
    if not value.get("isSidechain"):
        return ""
    thread = text_of(value.get("agentId")) or threads.get(text_of(value.get("parentUuid"))) or uuid or "sidechain"
    if uuid:
        threads[uuid] = thread
    return thread


def _take_session(found: Scan, value: Mapping[str, object]) -> None:
    session_id = text_of(value.get("sessionId"))
    if session_id:
        found.session_ids[session_id] = found.session_ids.get(session_id, 0) + 1
    for key in _FACTS:
        if key not in found.facts and text_of(value.get(key)):
            found.facts[key] = text_of(value.get(key))
    at = epoch_seconds(value.get("timestamp"))
    if at is not None:
        found.started_at = at if found.started_at is None else min(at, found.started_at)
        found.ended_at = at if found.ended_at is None else max(at, found.ended_at)


def _take_title(found: Scan, value: Mapping[str, object]) -> None:
    kind = value.get("type")
    if kind == "summary" and isinstance(value.get("summary"), str):
        found.titles.append((text_of(value.get("leafUuid")), text_of(value.get("summary"))))
    elif kind in ("ai-title", "custom-title"):
        titles = (text_of(value.get(key)) for key in ("customTitle", "aiTitle", "title"))
        found.given_title = next((title for title in titles if title), found.given_title)


def _take_record(found: Scan, value: Mapping[str, object], record: Record) -> None:
    message = message_of(value)
    if record.kind is RecordKind.BOUNDARY:
        found.boundaries[record.number] = read_boundary(value)
    elif record.kind is RecordKind.ASSISTANT:
        model = text_of(message.get("model"))
        if model and model != "<synthetic>" and not record.thread:
            found.model = model
        _take_calls(found, message)
    elif record.kind is RecordKind.USER:
        result = value.get("toolUseResult")
        agent = text_of(result.get("agentId")) if isinstance(result, dict) else ""
        if agent and record.shape.result_ids:
            found.calls_by_agent.setdefault(agent, record.shape.result_ids[0])
        if record.shape.says_something:
            found.first_prompts.setdefault(record.thread, prompt_key(first_text(message)))


def _take_calls(found: Scan, message: Mapping[str, object]) -> None:
    for block in blocks_of(message):
        given = block.get("input")
        if block.get("type") == "tool_use" and block.get("name") in _CALLING_TOOLS and isinstance(given, dict):
            prompt, call_id = text_of(given.get("prompt")), text_of(block.get("id"))
            if prompt and call_id:
                found.calls_by_prompt.setdefault(prompt_key(prompt), call_id)


def _take_progress(found: Scan, value: Mapping[str, object]) -> None:
    data = value.get("data")
    agent = text_of(data.get("agentId")) if isinstance(data, dict) else ""
    call_id = text_of(value.get("parentToolUseID"))
    if agent and call_id:
        found.calls_by_agent.setdefault(agent, call_id)
