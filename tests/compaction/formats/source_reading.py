"""Reading a source in tests: all events of a file, and the live rows they add up to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from compaction.formats import open_source
from compaction.formats.events import (
    ImportReport,
    PassRecorded,
    ProblemKind,
    RowAppended,
    RowsRewound,
    SourceEvent,
    SourceRow,
    SourceSession,
)
from compaction.formats.source_file import SourceFile
from compaction.messages import ImagePart, Message, RowKind

DATA = Path(__file__).parents[2] / "data"
BUGS = DATA / "bugs"


@dataclass(frozen=True)
class Read:
    """A session that was read, with its events."""

    session: SourceSession
    events: tuple[SourceEvent, ...]

    @property
    def rows(self) -> list[SourceRow]:
        """Every row that was ever appended, in order."""
        return [event.row for event in self.events if isinstance(event, RowAppended)]

    @property
    def passes(self) -> list[PassRecorded]:
        return [event for event in self.events if isinstance(event, PassRecorded)]

    @property
    def rewound(self) -> list[str]:
        return [known for event in self.events if isinstance(event, RowsRewound) for known in event.foreign_ids]

    @property
    def live(self) -> list[SourceRow]:
        return live_rows(self.events)


def read(path: Path | str | SourceFile, **options) -> tuple[list[Read], ImportReport]:
    """All sessions of a file with their events, and the report. Asking again gives the same and tells nothing new."""
    report = ImportReport(str(path))
    found = []
    for session in open_source(path, report=report, **options):
        events = tuple(session.events())
        told = dict(report.counts)
        assert tuple(session.events()) == events
        assert report.counts == told
        found.append(Read(session, events))
    return found, report


def read_one(path: Path | str | SourceFile, **options) -> tuple[Read, ImportReport]:
    found, report = read(path, **options)
    assert len(found) == 1
    return found[0], report


def live_rows(events: Iterable[SourceEvent]) -> list[SourceRow]:
    """The rows that are live after the last event; each event is checked against what is live when it comes."""
    live: list[SourceRow] = []
    seen: set[str] = set()
    for event in events:
        if isinstance(event, RowAppended):
            _enter(event.row, seen)
            live.append(event.row)
        elif isinstance(event, RowsRewound):
            live = _without(live, event.foreign_ids)
        elif isinstance(event, PassRecorded):
            live = _after_pass(live, event, seen)
    return live


def _after_pass(live: list[SourceRow], event: PassRecorded, seen: set[str]) -> list[SourceRow]:
    places = [row.foreign_id for row in live]
    place = places.index(event.archived[0]) if event.archived else len(live)
    if event.before is not None:
        place = places.index(event.before)
    for row in event.inserted:
        _enter(row, seen)
    live = [*live[:place], *event.inserted, *live[place:]]
    for rewrite in event.rewritten:
        _enter(rewrite.row, seen)
        place = [row.foreign_id for row in live].index(rewrite.foreign_id)
        live[place] = rewrite.row
    return _without(live, event.archived)


def _enter(row: SourceRow, seen: set[str]) -> None:
    assert row.foreign_id not in seen, f"{row.foreign_id} came twice"
    seen.add(row.foreign_id)


def _without(live: list[SourceRow], gone: Iterable[str]) -> list[SourceRow]:
    known = {row.foreign_id for row in live}
    assert set(gone) <= known, "an event names rows that are not live"
    return [row for row in live if row.foreign_id not in set(gone)]


def write_lines(path: Path, *records: object) -> Path:
    """A line-delimited file of these records."""
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def texts(rows: Iterable[SourceRow]) -> list[str]:
    return [row.message.text for row in rows]


def kinds(rows: Iterable[SourceRow]) -> list[RowKind]:
    return [row.kind for row in rows]


def said(message: Message) -> tuple[object, ...]:
    """What a message says, for comparing: role, text, pictures, calls, and the call it answers."""
    content = message.content if isinstance(message.content, tuple) else ()
    pictures = tuple(part.raw for part in content if isinstance(part, ImagePart))
    calls = tuple((call.id, call.name, call.arguments) for call in message.tool_calls)
    return message.role.value, message.text.strip(), pictures, calls, message.tool_call_id


def problem_kinds(report: ImportReport) -> set[ProblemKind]:
    return set(report.counts)
