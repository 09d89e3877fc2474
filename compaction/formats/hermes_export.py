"""Reading `sessions export` of Hermes: one session per line, with its live rows.

A lineage export holds a conversation that went on in new sessions: its `segments` are those sessions, and `messages`
repeats their rows in one list. Segments are read where there are any, and the list then is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compaction.formats.events import ImportReport, Problem, ProblemKind, SourceSession
from compaction.formats.hermes_rows import Record
from compaction.formats.hermes_sessions import Origin, hermes_session
from compaction.formats.json_lines import JsonLine, JsonLineReader, parse_json
from compaction.formats.source_file import SourceFile, StreamKeeper
from compaction.wording import worded


def read_hermes_export(file: SourceFile, report: ImportReport) -> Iterator[SourceSession]:
    """The sessions of an export in the order of its lines."""
    keeper = StreamKeeper(file)
    with keeper.opened() as stream:
        reader = JsonLineReader(stream, report.add)
        for line in reader.objects():
            yield from _sessions(line, keeper, report)
        report.lines = reader.lines


def _sessions(line: JsonLine, keeper: StreamKeeper, report: ImportReport) -> Iterator[SourceSession]:
    segments = line.value.get("segments")
    if isinstance(segments, list) and segments:
        by_id = {segment.get("id"): segment for segment in segments if isinstance(segment, dict)}
        for index, segment in enumerate(segments):
            if isinstance(segment, dict):
                rows = _LineRows(keeper, line.offset, index)
                yield _session(segment, rows, line.number, report, by_id.get(segment.get("parent_session_id")))
        return
    yield _session(line.value, _LineRows(keeper, line.offset, None), line.number, report, None)


def _session(
    facts: Mapping[str, object], rows: _LineRows, line: int, report: ImportReport, parent: Mapping[str, object] | None
) -> SourceSession:
    foreign_id = facts.get("id") or facts.get("session_id")
    if not isinstance(foreign_id, str):
        foreign_id = f"line-{line}"
        report.add(Problem(ProblemKind.MISSING_KEY, worded("a session has no id"), line, skipped=False))
    parent_id = facts.get("parent_session_id")
    if not isinstance(parent_id, str) or not parent_id:
        return hermes_session(foreign_id, facts, rows, report)
    # A line says of its parent only who it is; that it goes on after a compaction shows in its rows or in the lineage.
    is_continued = parent.get("end_reason") == "compression" if parent else _opens_with_summary(facts)
    return hermes_session(
        foreign_id, facts, rows, report, Origin(parent_id, "compression" if is_continued else "branch")
    )


def _opens_with_summary(facts: Mapping[str, object]) -> bool:
    messages = facts.get("messages")
    opening = messages[:40] if isinstance(messages, list) else []
    texts = [message.get("content") for message in opening if isinstance(message, dict)]
    return any(isinstance(text, str) and "[CONTEXT COMPACTION" in text for text in texts)


class _LineRows:
    """The rows of one session in an export. Its line is read again when they are asked for, and kept for the replay."""

    def __init__(self, keeper: StreamKeeper, offset: int, segment: int | None) -> None:
        self._keeper = keeper
        self._offset = offset
        self._segment = segment
        self._messages: list[Record] = []

    def records(self) -> Iterator[tuple[int, Record]]:
        """All rows, numbered from 1 in the order of the line."""
        value = parse_json(self._keeper.line_at(self._offset)).value
        owner = value if self._segment is None else _member(_member(value, "segments"), self._segment)
        messages = _member(owner, "messages")
        items = messages if isinstance(messages, list) else []
        self._messages = [item if isinstance(item, dict) else {"content": item} for item in items]
        yield from enumerate(self._messages, 1)

    def record(self, number: int) -> Record:
        """One row by its number."""
        return self._messages[number - 1]


def _member(value: object, key: str | int) -> object:
    if isinstance(value, dict):
        return value.get(str(key))
    return value[key] if isinstance(value, list) and isinstance(key, int) else None
