"""Reading chat messages of the OpenAI shape in the wrappers they come in.

A bare list; an object with `messages` (a request, a run of a small agent); a request log with the `response` beside it,
which is the last message; a list of runs with `traj` or `messages`; the same, one object per line.

Identity: a session goes by the id its wrapper gives (session, conversation), else by its file's name and its opening
(all messages through the first reply), with the task and trial number or the wrapper's own number added where there are
any. A second run with the same opening in the same file gets an ordinal. None of these changes when a conversation
grows at its end, once it has a reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from compaction.errors import InvalidSource
from compaction.formats.chat_rows import ChatItem, chat_events, chat_messages
from compaction.formats.events import ImportReport, Problem, ProblemKind, SourceEvent, SourceSession
from compaction.formats.json_lines import JsonLineReader, parse_json, read_document
from compaction.formats.row_identity import RowIds, opening_id
from compaction.formats.source_file import SourceFile, StreamKeeper
from compaction.formats.times import epoch_seconds
from compaction.formats.told_once import SILENT, Tell, ToldOnce
from compaction.messages import Message
from compaction.storable import json_text
from compaction.wording import worded

SOURCE = "openai-chat"
_SESSION_KEYS = ("session_id", "conversation_id", "thread_id", "session")
_NUMBER_KEYS = ("task_id", "trial", "instance_id", "id")
# What has a field of its own, or repeats the messages.
_TOLD = frozenset({"messages", "traj", "response", "kwargs", "trajectory"})
_OPENING_MESSAGES = 50


@dataclass(frozen=True, slots=True)
class _Run:
    """One conversation: its messages, and what the wrapper around them says."""

    messages: Sequence[object]
    facts: Mapping[str, object]


def read_openai_chat(file: SourceFile, report: ImportReport) -> Iterator[SourceSession]:
    """The conversations of a file, in its order. Raises InvalidSource when it holds no messages."""
    with file.open() as stream:
        try:
            value: object = read_document(stream, file.label).value
        except InvalidSource:
            value = None
    ids = RowIds()
    if value is None:
        yield from _from_lines(file, report, ids)
        return
    runs = list(_runs(value))
    if not runs:
        raise InvalidSource(worded("the file holds no chat messages"), file.label)
    for run in runs:
        yield _session(run, file.stem, ids, partial(_run_events, run, ToldOnce(report)))


def _from_lines(file: SourceFile, report: ImportReport, ids: RowIds) -> Iterator[SourceSession]:
    keeper = StreamKeeper(file)
    with keeper.opened() as stream:
        reader = JsonLineReader(stream, report.add)
        for line in reader.objects():
            runs = list(_runs(line.value))
            if not runs:
                report.add(Problem(ProblemKind.UNKNOWN_TYPE, worded("a record without messages"), line.number))
            for index, run in enumerate(runs):
                # The line is read again for its events, so that not every line of a large file is held.
                again = partial(_line_events, keeper, line.offset, index, ToldOnce(report))
                yield _session(run, file.stem, ids, again)
        report.lines = reader.lines


def _line_events(keeper: StreamKeeper, offset: int, index: int, told: ToldOnce) -> Iterator[SourceEvent]:
    run = list(_runs(parse_json(keeper.line_at(offset)).value))[index]
    yield from _run_events(run, told)


def _run_events(run: _Run, told: ToldOnce) -> Iterator[SourceEvent]:
    tell = told.replay()
    yield from chat_events(_items(run, tell), tell)


def _runs(value: object) -> Iterator[_Run]:
    """The conversations in a JSON value."""
    if isinstance(value, dict):
        messages = value.get("traj") if isinstance(value.get("traj"), list) else value.get("messages")
        if isinstance(messages, list):
            yield _Run([*_system(value), *messages, *_response(value)], value)
    elif isinstance(value, list):
        wrapped = [run for item in value if isinstance(item, dict) for run in _runs(item)]
        if wrapped:
            yield from wrapped
        elif any(isinstance(item, dict) and "role" in item for item in value):
            yield _Run(value, {})


def _system(wrapper: Mapping[str, object]) -> list[object]:
    """A system prompt that stands beside the messages, as the first of them."""
    system = wrapper.get("system")
    return [{"role": "system", "content": system}] if isinstance(system, str | list) and system else []


def _response(wrapper: Mapping[str, object]) -> list[object]:
    """The answer in a request log, as the last message, with what the provider said of it."""
    response = wrapper.get("response")
    choices = response.get("choices") if isinstance(response, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(response, dict) or not isinstance(message, dict):
        return []
    said = {key: response[key] for key in ("usage", "model", "created") if response.get(key) is not None}
    return [{**message, **said}]


def _items(run: _Run, tell: Tell) -> Iterator[ChatItem]:
    for number, message in enumerate(run.messages, 1):
        where = worded("message {}", number)
        if isinstance(message, dict):
            yield ChatItem(message, json_text(message), where=where)
        else:
            tell.at(where=where).skip(ProblemKind.NOT_AN_OBJECT, json_text(message)[:120])


def _opening(run: _Run) -> Iterator[Message]:
    for item in islice(_items(run, SILENT), _OPENING_MESSAGES):
        yield from chat_messages(item, SILENT)


def _session(run: _Run, stem: str, ids: RowIds, events: Callable[[], Iterator[SourceEvent]]) -> SourceSession:
    facts = run.facts
    window = facts.get("context_window")
    kept = {key: value for key, value in facts.items() if key not in _TOLD and value is not None}
    return SourceSession(
        foreign_id=ids.give(_base_id(run, stem)),
        source=SOURCE,
        events=events,
        title=_text(facts.get("title")),
        model=_model(facts) or None,
        started_at=epoch_seconds(facts.get("timestamp")) or epoch_seconds(facts.get("created")),
        window_tokens=window if isinstance(window, int) and window > 0 else None,
        extras=json_text(kept),
    )


def _base_id(run: _Run, stem: str) -> str:
    named = next((run.facts[key] for key in _SESSION_KEYS if run.facts.get(key) not in (None, "")), None)
    if isinstance(named, str | int):
        return str(named)[:200]
    numbers = (run.facts.get(key) for key in _NUMBER_KEYS)
    known = [str(number)[:100] for number in numbers if isinstance(number, str | int) and number != ""]
    return "-".join([*known, opening_id(stem, _opening(run))])


def _model(facts: Mapping[str, object]) -> str:
    places = [facts, facts.get("kwargs"), facts.get("response"), facts.get("info")]
    named = (place.get("model") for place in places if isinstance(place, dict))
    return next((model for model in named if isinstance(model, str) and model), "")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
