"""Reading a transcript of one message per line, as old versions of Hermes wrote them: `<session id>.jsonl`.

A first line of type session_meta may name the session. Otherwise the file's name does when it has the form of a Hermes
id; failing that the session goes by its file's name and its opening. Lines without a role are counted and passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from compaction.formats.chat_rows import ChatItem, chat_events, chat_messages
from compaction.formats.events import ImportReport, Problem, ProblemKind, SourceEvent, SourceSession
from compaction.formats.hermes_sessions import SOURCE
from compaction.formats.json_lines import JsonLineReader
from compaction.formats.row_identity import opening_id
from compaction.formats.source_file import SourceFile, StreamKeeper
from compaction.formats.times import epoch_seconds
from compaction.formats.told_once import SILENT, ToldOnce
from compaction.messages import Message
from compaction.storable import json_text
from compaction.wording import worded

_HERMES_ID = re.compile(r"(?:cron_\w+_)?\d{8}_\d{6}(?:_\w+)?")
_OPENING_RECORDS = 50


def read_hermes_transcript(file: SourceFile, report: ImportReport) -> Iterator[SourceSession]:
    """The one session of a transcript."""
    keeper = StreamKeeper(file)
    told = ToldOnce(report)
    with keeper.opened() as stream:
        reader = JsonLineReader(stream, report.add)
        facts: dict[str, object] = {}
        times: list[float] = []
        for line in reader.objects():
            if not _is_message(line.value):
                facts = {**line.value, **facts}
                _tell_passed_over(line.value, line.number, report)
            elif (at := epoch_seconds(line.value.get("timestamp"))) is not None:
                times.append(at)
        report.lines = reader.lines
    foreign_id = _name(facts, file) or opening_id(file.stem, _opening(keeper))

    def events() -> Iterator[SourceEvent]:
        yield from chat_events(_items(keeper), told.replay())

    model = facts.get("model")
    yield SourceSession(
        foreign_id=foreign_id,
        source=SOURCE,
        events=events,
        model=model if isinstance(model, str) else None,
        started_at=epoch_seconds(facts.get("timestamp")) or (min(times) if times else None),
        ended_at=max(times) if times else None,
        extras=json_text(facts),
        is_damaged=reader.is_damaged,
    )


def _items(keeper: StreamKeeper) -> Iterator[ChatItem]:
    with keeper.opened() as stream:
        for line in JsonLineReader(stream, SILENT).objects():
            if _is_message(line.value):
                yield ChatItem(line.value, line.raw, line.number)


def _opening(keeper: StreamKeeper) -> Iterator[Message]:
    for item in islice(_items(keeper), _OPENING_RECORDS):
        yield from chat_messages(item, SILENT)


def _is_message(record: Mapping[str, object]) -> bool:
    return "role" in record or "content" in record


def _tell_passed_over(record: Mapping[str, object], line: int, report: ImportReport) -> None:
    kind = record.get("type")
    if kind == "session_meta":
        report.add(Problem(ProblemKind.NOT_MODEL_BOUND, worded("the record session_meta describes the session"), line))
    else:
        name = worded("a record of type {!r}", str(kind)[:40]) if kind else worded("a record without a role")
        report.add(Problem(ProblemKind.UNKNOWN_TYPE, worded("{}: {}", name, json_text(record)[:120]), line))


def _name(facts: Mapping[str, object], file: SourceFile) -> str:
    named = facts.get("session_id") or facts.get("id")
    if isinstance(named, str) and named:
        return named
    return file.stem if _HERMES_ID.fullmatch(file.stem) else ""
