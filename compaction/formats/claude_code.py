"""Reading Claude Code sessions.

One file is one session, with its sub-agents as child sessions: those in the file (older versions) and those in files
beside it. The call of the summariser itself, kept as a sub-agent "acompact", gives a compaction its prompt; where it
matches none it is a child session like the others.

Identity: a session goes by the sessionId that is also the file's name, else by the first one in the file. A sub-agent
goes by its session's id and its own. A row goes by the uuid of its first line, with a number when one line gives
several rows; a line without a uuid by its number. Files only grow at their end, so none of these changes; only an
answer whose last lines were not written yet reads longer the next time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from compaction.formats.claude_agents import agent_files, agent_id, call_in_meta, is_agent_name
from compaction.formats.claude_chain import Ended, follow
from compaction.formats.claude_records import Record, RecordKind
from compaction.formats.claude_rows import RowReader
from compaction.formats.claude_scan import Scan, scan
from compaction.formats.claude_telling import Appended, Compacted, Step, tell_steps
from compaction.formats.events import (
    ImportReport,
    PassRecorded,
    RowAppended,
    RowsRewound,
    SourceEvent,
    SourceSession,
    TurnEnded,
)
from compaction.formats.json_lines import JsonLineReader
from compaction.formats.source_file import SourceFile, StreamKeeper
from compaction.formats.told_once import Tell, ToldOnce
from compaction.messages import RowKind
from compaction.storable import json_text

SOURCE = "claude-code"
_SUMMARISER = "acompact"


@dataclass(frozen=True, slots=True)
class _Summariser:
    """A call of the summariser: the record it was made at, its prompt and its model."""

    parent: str
    prompt: str
    model: str | None


@dataclass(frozen=True, slots=True)
class _Child:
    """How a sub-agent hangs on its session: the session, and the call that started it where that is known."""

    session_id: str
    call_id: str | None


def read_claude_code(file: SourceFile, report: ImportReport) -> Iterator[SourceSession]:
    """The session in a file and its sub-agents, parent first. A file without any row gives no session."""
    main = _File(file, report, is_agent=is_agent_name(file))
    report.lines = main.found.lines
    session_id = main.session_id()
    if main.is_agent:
        yield main.session(f"{session_id}/{agent_id(file)}", "", _Child(session_id, call_in_meta(file)))
        return
    agents = [_File(found, report, is_agent=True) for found in agent_files(file, main.found.session_ids)]
    places = {boundary.logical_parent for boundary in main.found.boundaries.values()}
    summarisers = {agent.file: call for agent in agents if (call := agent.summariser()) and call.parent in places}
    for thread in main.found.threads:
        if thread == "":
            yield main.session(session_id, thread, summarisers=tuple(summarisers.values()))
        else:
            yield main.session(f"{session_id}/{thread}", thread, _Child(session_id, main.call_of(thread)))
    for agent in agents:
        if agent.file not in summarisers and agent.found.threads:
            yield agent.session(
                f"{session_id}/{agent_id(agent.file)}", "", _Child(session_id, main.call_of_file(agent))
            )


class _File:
    """A file that was scanned, and the sessions in it."""

    def __init__(self, file: SourceFile, report: ImportReport, is_agent: bool) -> None:
        self.file = file
        self.is_agent = is_agent
        self._keeper = StreamKeeper(file)
        self._report = report
        self._where = file.name if is_agent else ""
        tell = Tell(report.add, where=self._where)
        with self._keeper.opened() as stream:
            self.found = scan(JsonLineReader(stream, tell), tell, is_agent)

    def session_id(self) -> str:
        """The id of the session: of those its records name, the one in the file's name, else the first."""
        named = list(self.found.session_ids)
        if self.file.stem in named or not named:
            return self.file.stem if named else self._derived_id()
        return named[0]

    def session(
        self, foreign_id: str, thread: str, child: _Child | None = None, summarisers: tuple[_Summariser, ...] = ()
    ) -> SourceSession:
        """One thread of the file as a session."""
        found = self.found
        conversation = _Conversation(self._keeper, found, thread, self._report, self._where, summarisers)
        return SourceSession(
            foreign_id=foreign_id,
            source=SOURCE,
            events=conversation.events,
            title=found.title() if child is None else "",
            model=found.model,
            started_at=found.started_at if child is None or self.is_agent else None,
            ended_at=found.ended_at if child is None or self.is_agent else None,
            parent_foreign_id=child.session_id if child else None,
            parent_link="subagent" if child else None,
            parent_call_id=child.call_id if child else None,
            cwd=found.facts.get("cwd"),
            extras=json_text({key: value for key, value in found.facts.items() if key != "cwd"}),
            is_damaged=found.is_damaged,
        )

    def call_of(self, thread: str) -> str | None:
        """The call in this file that started a thread of it."""
        prompt = self.found.first_prompts.get(thread, "")
        return self.found.calls_by_agent.get(thread) or self.found.calls_by_prompt.get(prompt)

    def call_of_file(self, agent: _File) -> str | None:
        """The call in this file that started the sub-agent of another file."""
        named = call_in_meta(agent.file) or self.found.calls_by_agent.get(agent_id(agent.file))
        return named or self.found.calls_by_prompt.get(agent.found.first_prompts.get("", ""))

    def summariser(self) -> _Summariser | None:
        """The call of the summariser that this file holds; None when it holds none."""
        prompt = next((record for record in self._records() if record.kind is RecordKind.USER), None)
        if not agent_id(self.file).startswith(_SUMMARISER) or prompt is None or prompt.parent is None:
            return None
        with self._keeper.opened() as stream:
            text = RowReader(stream).first_message(prompt).text
        return _Summariser(prompt.parent, text, self.found.model)

    def _records(self) -> Iterator[Record]:
        return (record for record in self.found.records if isinstance(record, Record))

    def _derived_id(self) -> str:
        """An id for a session that names none: from its first record, which stays where it is."""
        first = next(self._records(), None)
        if first is None:
            return self.file.stem
        named = first.uuid.encode() or self._keeper.line_at(first.offset).strip()
        return f"unnamed-{hashlib.sha256(named).hexdigest()[:16]}"


class _Conversation:
    """One thread of a file. Its steps are found once, when the events are first asked for."""

    def __init__(
        self,
        keeper: StreamKeeper,
        found: Scan,
        thread: str,
        report: ImportReport,
        where: str,
        summarisers: tuple[_Summariser, ...],
    ) -> None:
        self._keeper = keeper
        self._found = found
        self._thread = thread
        self._report = report
        self._where = where
        self._told = ToldOnce(report)
        self._summarisers = {call.parent: call for call in summarisers}
        self._steps: list[Step] | None = None

    def events(self) -> Iterator[SourceEvent]:
        """What happened, from the first row on."""
        if self._steps is None:
            tell = Tell(self._report.add, where=self._where)
            self._steps = tell_steps(follow(self._found, self._thread, tell))
        tell = self._told.replay().at(where=self._where)
        with self._keeper.opened() as stream:
            reader = RowReader(stream)
            for step in self._steps:
                yield self._event(step, reader, tell)

    def _event(self, step: Step, reader: RowReader, tell: Tell) -> SourceEvent:
        if isinstance(step, Appended):
            return RowAppended(reader.row(step.row, tell))
        if isinstance(step, Compacted):
            return self._compaction(step, reader, tell)
        if isinstance(step, Ended):
            return TurnEnded(step.interrupted, step.at)
        return RowsRewound(step.foreign_ids)

    def _compaction(self, step: Compacted, reader: RowReader, tell: Tell) -> PassRecorded:
        move, boundary = step.move, step.move.boundary
        call = self._summarisers.get(boundary.logical_parent or "") if boundary else None
        return PassRecorded(
            kind=RowKind.BATCH_SUMMARY,
            archived=step.archived,
            inserted=(reader.row(move.summary, tell),) if move.summary else (),
            before=step.before,
            at=move.record.at,
            trigger=boundary.trigger if boundary else None,
            tokens_before=boundary.tokens_before if boundary else None,
            tokens_after=boundary.tokens_after if boundary else None,
            duration_ms=boundary.duration_ms if boundary else None,
            model=call.model if call else None,
            prompt=call.prompt if call else None,
            line=move.record.number,
        )
