"""Reading the exports of this program, as one JSON document or as JSON lines.

An export that is not redacted holds all that is stored of its session (`own_ledger`). Whoever can keep that needs
nothing else. The rest is for exports of earlier versions, for redacted ones, and for those that lost a record on the
way.

Each row says when it was born and when it died, and by which pass. From that the session is told again as it happened:
rows appended, passes with what they archived and what they put in its place, passes that changed nothing with why they
did not, rows taken back. Kinds stay: a summary comes back as a summary, never as a message. A pass that was undone left
nothing, so it is left out, and the report says so.

A redacted export is no original. It is read as a source of its own, under an id of its own, so that a copy with masked
texts can never be taken for the session, nor mix with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from compaction.errors import InvalidSource
from compaction.formats.events import (
    ImportReport,
    PassRecorded,
    Problem,
    ProblemKind,
    Rewrite,
    RowAppended,
    RowsRewound,
    SourceEvent,
    SourceRow,
    SourceSession,
)
from compaction.formats.json_lines import JsonLineReader, parse_json, read_document
from compaction.formats.own_ledger import LISTS, LedgerRow, OwnLedger, is_original
from compaction.formats.own_passes import figures_of, text_of, tried_pass, whole
from compaction.formats.source_file import SourceFile, StreamKeeper
from compaction.formats.times import epoch_seconds
from compaction.formats.told_once import Tell, ToldOnce
from compaction.messages import Message, Role, RowKind
from compaction.storable import json_text
from compaction.wire import message_from_openai
from compaction.wording import worded

FORMAT: Final = "hermes-sessions-export"
VERSION: Final = 2
SOURCE: Final = "sessions-export"
REDACTED_SOURCE: Final = "redacted-export"
_PASS_KINDS: Final = {
    "micro": RowKind.MICRO_SUMMARY,
    "defrag": RowKind.MICRO_SUMMARY,
    "batch": RowKind.BATCH_SUMMARY,
    "prune": RowKind.PRUNE_STUB,
}
_KINDS: Final = {kind.value: kind for kind in RowKind}

Record = Mapping[str, object]
Fetch = Callable[["_RowLine"], Record]


class _RowLine(NamedTuple):
    """What has to be known of a row before the events can be put in order. place: where its record is read again."""

    place: int
    line: int | None
    id: int
    position: int
    born_seq: int
    died_seq: int | None
    made_by: int | None
    archived_by: int | None
    foreign_id: str
    replaces: int | None


@dataclass(frozen=True, slots=True)
class _RowsOfPasses:
    """The rows that each pass made and archived, by its number, and all rows by id: sought once, not for each pass."""

    by_id: Mapping[int, _RowLine]
    made: Mapping[int, Sequence[_RowLine]]
    archived: Mapping[int, Sequence[_RowLine]]


@dataclass(frozen=True, slots=True)
class _Told:
    """An export taken apart: the head, narrow lines of the rows, the passes, the passes whose summary is hidden, and
    where the export is whole all of its records."""

    head: Record
    rows: Sequence[_RowLine]
    passes: Sequence[Record]
    opaque_passes: frozenset[int]
    ledger: OwnLedger | None


def read_own_export(file: SourceFile, report: ImportReport) -> Iterator[SourceSession]:
    """The session of an export. Raises InvalidSource when it is of a newer version or holds no session."""
    with file.open() as stream:
        first = stream.readline().removeprefix(b"\xef\xbb\xbf")
    head = _line_head(first)
    told, fetch = _from_document(file) if head is None else _from_lines(file, report)
    _check(told.head, file.label)
    if told.ledger is None and is_original(told.head):
        words = worded("records of the export are missing, so it can only be read as a plain transcript")
        report.add(Problem(ProblemKind.MISSING_KEY, words, skipped=False))
    yield _session(told, fetch, report)


def _line_head(line: bytes) -> Record | None:
    try:
        value = parse_json(line).value
    except ValueError:
        return None
    return value if isinstance(value, dict) and value.get("record") == "session" else None


def _check(head: Record, label: str) -> None:
    if head.get("format") != FORMAT or not isinstance(head.get("session"), dict):
        raise InvalidSource(worded("the export names no session"), label)
    version = head.get("version")
    if not isinstance(version, int) or version > VERSION:
        message = worded("the export is of version {}; this program reads up to {}", str(version), VERSION)
        raise InvalidSource(message, label)


def _from_document(file: SourceFile) -> tuple[_Told, Fetch]:
    with file.open() as stream:
        value = read_document(stream, file.label).value
    head = value if isinstance(value, dict) else {}
    rows, passes, summaries = (_objects(head.get(name)) for name in ("rows", "passes", "summaries"))
    lines = [_row_line(row, place, None) for place, row in enumerate(rows)]
    lists = {name: head.get(plural) for plural, name in LISTS.items()}
    is_whole = all(isinstance(one, list) and len(_objects(one)) == len(one) for one in lists.values())
    ledger = _ledger(head, lines, lambda name: iter(_objects(lists[name]))) if is_whole else None
    return _Told(head, lines, passes, _opaque(summaries), ledger), lambda line: rows[line.place]


def _from_lines(file: SourceFile, report: ImportReport) -> tuple[_Told, Fetch]:
    keeper = StreamKeeper(file)
    head: Record = {}
    rows: list[_RowLine] = []
    passes: list[Record] = []
    summaries: list[Record] = []
    places: dict[str, list[int]] = {name: [] for name in LISTS.values()}
    counts: object = None
    with keeper.opened() as stream:
        reader = JsonLineReader(stream, report.add)
        for line in reader.objects():
            kind = line.value.get("record")
            places.get(str(kind), []).append(line.offset)
            match kind:
                case "session":
                    head = line.value
                case "row":
                    rows.append(_row_line(line.value, line.offset, line.number))
                case "pass":
                    # What is stored beside is long, and read again where it is needed.
                    passes.append({name: value for name, value in line.value.items() if name != "stored"})
                case "summary":
                    summaries.append({**line.value, "text": line.value.get("text") and ""})
                case "end":
                    counts = line.value.get("counts")
                case "prompt" | "event" | "turn" | "call":
                    # No part of the transcript.
                    pass
                case _:
                    report.add(Problem(ProblemKind.UNKNOWN_TYPE, worded("a record of no known kind"), line.number))
        report.lines = reader.lines
    is_whole = counts == {plural: len(places[name]) for plural, name in LISTS.items()}
    ledger = _ledger(head, rows, lambda name: (_at(keeper, place) for place in places[name])) if is_whole else None
    return _Told(head, rows, passes, _opaque(summaries), ledger), lambda line: _at(keeper, line.place)


def _ledger(head: Record, rows: Sequence[_RowLine], read: Callable[[str], Iterator[Record]]) -> OwnLedger | None:
    if not is_original(head):
        return None
    facts = head["session"]
    assert isinstance(facts, dict)
    narrow = [LedgerRow(row.id, row.foreign_id, row.born_seq, row.died_seq, row.archived_by) for row in rows]
    return OwnLedger(facts, narrow, read)


def _at(keeper: StreamKeeper, place: int) -> Record:
    value = parse_json(keeper.line_at(place)).value
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _opaque(summaries: Sequence[Record]) -> frozenset[int]:
    hidden = (whole(one.get("made_by_pass")) for one in summaries if one.get("text") is None)
    return frozenset(number for number in hidden if number is not None)


def _row_line(record: Record, place: int, line: int | None) -> _RowLine:
    row_id = whole(record.get("id")) or 0
    named = record.get("client_id")
    return _RowLine(
        place=place,
        line=line,
        id=row_id,
        position=whole(record.get("position")) or 0,
        born_seq=whole(record.get("born_seq")) or 0,
        died_seq=whole(record.get("died_seq")),
        made_by=whole(record.get("made_by_pass")),
        archived_by=whole(record.get("archived_by_pass")),
        foreign_id=named if isinstance(named, str) and named else f"row-{row_id}",
        replaces=whole(record.get("replaces")),
    )


def _session(told: _Told, fetch: Fetch, report: ImportReport) -> SourceSession:
    facts = told.head["session"]
    assert isinstance(facts, dict)
    is_redacted = told.head.get("redacted") is not False
    name = text_of(facts.get("id")) or "unnamed"
    return SourceSession(
        foreign_id=f"redacted-{name}" if is_redacted else name,
        source=REDACTED_SOURCE if is_redacted else SOURCE,
        events=partial(_events, told, fetch, ToldOnce(report)),
        title=text_of(facts.get("title")),
        model=text_of(facts.get("model")) or None,
        started_at=epoch_seconds(facts.get("started_at")),
        ended_at=epoch_seconds(facts.get("ended_at")),
        end_reason=text_of(facts.get("end_reason")) or None,
        window_tokens=whole(facts.get("window_tokens")),
        fixed_overhead_tokens=whole(facts.get("fixed_overhead_tokens")),
        extras=json_text({"exported_from": facts.get("source"), "exported_id": name, "redacted": is_redacted}),
        ledger=told.ledger,
    )


def _events(told: _Told, fetch: Fetch, once: ToldOnce) -> Iterator[SourceEvent]:
    """Everything that happened, by the session's own clock; at one moment rows come before passes."""
    tell = once.replay()
    undone = frozenset(number for one in told.passes if _has_no_trace(one) and (number := whole(one.get("number"))))
    rows = [row for row in told.rows if row.made_by not in undone]
    of_passes = _rows_of_passes(rows)
    moments: list[tuple[int, int, int, Callable[[], SourceEvent | None]]] = []
    for born_seq, row in _appended(rows):
        moments.append((born_seq, 0, row.position, partial(_append, row, fetch, tell)))
    for recorded in told.passes:
        number = whole(recorded.get("number"))
        again = None if number is None else _pass_event(recorded, number, told, of_passes, fetch, tell)
        if number is not None and again is not None:
            moments.append((whole(recorded.get("seq")) or 0, 1, number, again))
    for died_seq, foreign_ids in _taken_back(rows):
        moments.append((died_seq, 2, 0, partial(RowsRewound, foreign_ids)))
    for _seq, _order, _place, make in sorted(moments, key=lambda moment: moment[:3]):
        event = make()
        if event is not None:
            yield event


def _pass_event(
    recorded: Record, number: int, told: _Told, rows: _RowsOfPasses, fetch: Fetch, tell: Tell
) -> Callable[[], SourceEvent | None] | None:
    """What makes the event of a pass; None, with a problem told, for one that can't be taken."""
    here = tell.at(where=worded("pass {}", number))
    if recorded.get("undone_seq") is not None:
        here.note(ProblemKind.UNDONE_PASS, worded("it was undone, so nothing of it is left to take over"))
        return None
    if _has_no_trace(recorded):
        return partial(tried_pass, recorded, number, tell)
    kind = _PASS_KINDS.get(str(recorded.get("kind")))
    if kind is None:
        here.note(ProblemKind.UNKNOWN_TYPE, worded("a pass of no known kind"))
        return None
    return partial(_pass, recorded, number, kind, rows, fetch, tell, number in told.opaque_passes)


def _rows_of_passes(rows: Sequence[_RowLine]) -> _RowsOfPasses:
    made: dict[int, list[_RowLine]] = {}
    archived: dict[int, list[_RowLine]] = {}
    for row in rows:
        if row.made_by is not None:
            made.setdefault(row.made_by, []).append(row)
        if row.archived_by is not None:
            archived.setdefault(row.archived_by, []).append(row)
    return _RowsOfPasses({row.id: row for row in rows}, made, archived)


def _has_no_trace(recorded: Record) -> bool:
    return recorded.get("committed") is not True or recorded.get("undone_seq") is not None


def _appended(rows: Sequence[_RowLine]) -> Iterator[tuple[int, _RowLine]]:
    """Rows that no pass made, with the event of their birth. A row that an undo revived was born before those behind
    it, whatever its present life says."""
    earliest: int | None = None
    for row in sorted((row for row in rows if row.made_by is None), key=lambda row: row.position, reverse=True):
        earliest = row.born_seq if earliest is None else min(earliest, row.born_seq)
        yield earliest, row


def _taken_back(rows: Sequence[_RowLine]) -> Iterator[tuple[int, tuple[str, ...]]]:
    by_seq: dict[int, list[str]] = {}
    for row in rows:
        if row.died_seq is not None and row.archived_by is None:
            by_seq.setdefault(row.died_seq, []).append(row.foreign_id)
    return ((seq, tuple(foreign_ids)) for seq, foreign_ids in by_seq.items())


def _append(row: _RowLine, fetch: Fetch, tell: Tell) -> RowAppended:
    return RowAppended(_source_row(row, fetch(row), tell))


def _pass(
    recorded: Record,
    number: int,
    kind: RowKind,
    rows: _RowsOfPasses,
    fetch: Fetch,
    tell: Tell,
    is_opaque: bool,
) -> PassRecorded:
    made, by_id = rows.made.get(number, ()), rows.by_id
    rewritten = [row for row in made if row.replaces in by_id]
    originals = {row.replaces for row in rewritten}
    archived = [row for row in rows.archived.get(number, ()) if row.id not in originals]
    inserted = [row for row in made if row.replaces not in by_id]
    # The first one named is the one in whose place the summary comes.
    places = {row.position for row in inserted}
    archived.sort(key=lambda row: (row.position not in places, row.made_by is not None, row.position))
    return PassRecorded(
        kind=kind,
        archived=tuple(row.foreign_id for row in archived),
        inserted=tuple(_source_row(row, fetch(row), tell) for row in inserted),
        rewritten=tuple(
            Rewrite(by_id[row.replaces].foreign_id, _source_row(row, fetch(row), tell))
            for row in rewritten
            if row.replaces
        ),
        at=epoch_seconds(recorded.get("at")),
        trigger=text_of(recorded.get("trigger")) or None,
        tokens_before=whole(recorded.get("tokens_before")),
        tokens_after=whole(recorded.get("tokens_after")),
        duration_ms=whole(recorded.get("duration_ms")),
        model=text_of(recorded.get("aux_model")) or None,
        opaque=is_opaque,
        is_defrag=recorded.get("kind") == "defrag",
        figures=figures_of(recorded),
    )


def _source_row(row: _RowLine, record: Record, tell: Tell) -> SourceRow:
    here = tell.at(line=row.line, where=worded("row {}", row.position))
    message = record.get("message")
    if not isinstance(message, dict):
        here.note(ProblemKind.MISSING_KEY, worded("the row has no message"))
    usage = record.get("usage")
    tokens = usage if isinstance(usage, dict) else {}
    return SourceRow(
        foreign_id=row.foreign_id,
        message=message_from_openai(message, here) if isinstance(message, dict) else Message(Role.USER, ""),
        at=epoch_seconds(record.get("at")),
        kind=_KINDS.get(str(record.get("kind")), RowKind.MESSAGE),
        by_person=record.get("by_person") is not False,
        model=text_of(record.get("model")) or None,
        input_tokens=whole(tokens.get("input_tokens")),
        output_tokens=whole(tokens.get("output_tokens")),
        cache_read_tokens=whole(tokens.get("cache_read_tokens")),
        cache_write_tokens=whole(tokens.get("cache_write_tokens")),
        reasoning_tokens=whole(record.get("reasoning_tokens")),
        line=row.line,
    )
