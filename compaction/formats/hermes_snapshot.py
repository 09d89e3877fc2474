"""Reading a Hermes snapshot `session_<id>.json`: one session as the program held it in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compaction.errors import InvalidSource
from compaction.formats.events import ImportReport, Problem, ProblemKind, SourceSession
from compaction.formats.hermes_rows import Record
from compaction.formats.hermes_sessions import hermes_session
from compaction.formats.json_lines import read_document
from compaction.formats.source_file import SourceFile
from compaction.wording import worded


def read_hermes_snapshot(file: SourceFile, report: ImportReport) -> Iterator[SourceSession]:
    """The session of a snapshot. Raises InvalidSource when the file is no JSON object with messages."""
    with file.open() as stream:
        value = read_document(stream, file.label).value
    messages = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(messages, list):
        raise InvalidSource(worded("the snapshot has no messages"), file.label)
    facts = {"started_at": value.get("session_start"), **value, "last_updated": value.get("last_updated")}
    foreign_id = value.get("session_id")
    if not isinstance(foreign_id, str) or not foreign_id:
        foreign_id = file.stem.removeprefix("session_")
        report.add(Problem(ProblemKind.MISSING_KEY, worded("the snapshot has no session_id"), skipped=False))
    rows = MemoryRows([message if isinstance(message, dict) else {"content": message} for message in messages])
    yield hermes_session(foreign_id, facts, rows, report)


class MemoryRows:
    """Rows that are in memory already, numbered from 1."""

    def __init__(self, messages: Sequence[Record]) -> None:
        self._messages = messages

    def records(self) -> Iterator[tuple[int, Record]]:
        """All rows in order."""
        yield from enumerate(self._messages, 1)

    def record(self, number: int) -> Record:
        """One row by its number."""
        return self._messages[number - 1]
