"""A Hermes session as any of its stores holds it: its facts, and its stored rows told as events.

Used by every reader of Hermes' own formats. Rows are asked for by number from a `RowSource`, so the same folding serves
a database, an export line and a snapshot.

Identity: a session goes by its Hermes id. A row goes by the store's own row identity and what it says, or by what it
says alone with an ordinal; neither changes when a compaction copies the row, when the session grows, or between the
database and an export of it. The system prompt is the row "system".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from compaction.formats.events import (
    ImportReport,
    PassRecorded,
    Rewrite,
    RowAppended,
    RowsRewound,
    SourceEvent,
    SourceRow,
    SourceSession,
)
from compaction.formats.hermes_folding import PlannedAppend, PlannedPass, PlannedRow, Step, fold
from compaction.formats.hermes_rows import Record, StoredRow, live_row, read_text, stored_row, summary_row
from compaction.formats.times import epoch_seconds
from compaction.formats.told_once import SILENT, Tell, ToldOnce
from compaction.messages import Message, Role, RowKind
from compaction.storable import json_text, storable_text, storable_value
from compaction.wording import worded

SOURCE = "hermes"
SYSTEM_ROW = "system"
# Facts that have a field of their own, or that are the transcript itself.
_TOLD = frozenset(
    {"id", "session_id", "title", "model", "started_at", "ended_at", "end_reason", "parent_session_id", "cwd"}
    | {"messages", "segments", "system_prompt", "system_prompt_hash", "lineage_session_ids"}
)


class RowSource(Protocol):
    """The stored rows of one session."""

    def records(self) -> Iterator[tuple[int, Record]]:
        """All rows in order, with the numbers they are found by."""

    def record(self, number: int) -> Record:
        """One row by its number."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a session comes from: its parent and how ("compression", "branch" or "subagent")."""

    parent: str | None = None
    link: str | None = None


def hermes_session(
    foreign_id: str, facts: Mapping[str, object], rows: RowSource, report: ImportReport, origin: Origin = Origin()
) -> SourceSession:
    """The session with the given facts: the columns of the sessions table, as many as there are."""
    replay = _Replay(rows, _text(facts, "system_prompt"), epoch_seconds(facts.get("started_at")), ToldOnce(report))
    kept = {key: value for key, value in facts.items() if key not in _TOLD and value not in (None, "", 0)}
    return SourceSession(
        foreign_id=foreign_id,
        source=SOURCE,
        events=replay.events,
        title=_text(facts, "title"),
        model=_text(facts, "model") or None,
        started_at=epoch_seconds(facts.get("started_at")),
        ended_at=epoch_seconds(facts.get("ended_at")),
        end_reason=_text(facts, "end_reason") or None,
        parent_foreign_id=origin.parent,
        parent_link=origin.link,
        cwd=_text(facts, "cwd") or None,
        extras=json_text(storable_value(kept)),
    )


class _Replay:
    """Tells a session's rows as events. The plan is made once, when the events are first asked for."""

    def __init__(self, rows: RowSource, system_prompt: str, started_at: float | None, told: ToldOnce) -> None:
        self._rows = rows
        self._system_prompt = system_prompt
        self._started_at = started_at
        self._told = told
        self._steps: list[Step] | None = None
        self._has_system_row: bool | None = None

    def events(self) -> Iterator[SourceEvent]:
        """What happened, from the first row on."""
        if self._steps is None:
            self._steps = fold([self._stored(number, record) for number, record in self._rows.records()])
        tell = self._told.replay()
        if self._system_prompt and not self._has_system_row:
            message = Message(Role.SYSTEM, self._system_prompt)
            yield RowAppended(SourceRow(SYSTEM_ROW, message, self._started_at, by_person=False))
        for step in self._steps:
            yield self._event(step, tell)

    def _stored(self, number: int, record: Record) -> StoredRow:
        stored = stored_row(number, record, read_text(record, SILENT))
        if self._has_system_row is None:
            self._has_system_row = stored.role is Role.SYSTEM
        return stored

    def _event(self, step: Step, tell: Tell) -> SourceEvent:
        if isinstance(step, PlannedAppend):
            return RowAppended(self._row(step.row, tell))
        if isinstance(step, PlannedPass):
            return self._pass(step, tell)
        return RowsRewound(step.foreign_ids)

    def _pass(self, step: PlannedPass, tell: Tell) -> PassRecorded:
        inserted = tuple(self._row(planned, tell) for planned in step.inserted)
        rewritten = tuple(Rewrite(old, self._row(planned, tell)) for old, planned in step.rewritten)
        return PassRecorded(
            kind=_kind(inserted, step),
            archived=step.archived,
            inserted=inserted,
            before=step.before,
            rewritten=rewritten,
            at=inserted[0].at if inserted else None,
        )

    def _row(self, planned: PlannedRow, tell: Tell) -> SourceRow:
        record = self._rows.record(planned.number)
        text = read_text(record, tell.at(where=worded("message {}", planned.number)))
        if planned.is_summary and text.split is not None:
            return summary_row(planned.foreign_id, record, text.split)
        is_stub = planned.is_rewrite and text.message is not None and text.message.role is Role.TOOL
        kind = RowKind.PRUNE_STUB if is_stub else RowKind.MESSAGE
        return live_row(planned.foreign_id, record, text.message or Message(Role.USER, ""), kind)


def _kind(inserted: tuple[SourceRow, ...], step: PlannedPass) -> RowKind:
    if inserted:
        return inserted[0].kind
    return RowKind.PRUNE_STUB if step.rewritten and not step.archived else RowKind.BATCH_SUMMARY


def _text(facts: Mapping[str, object], key: str) -> str:
    value = facts.get(key)
    return storable_text(value) if isinstance(value, str) else ""
