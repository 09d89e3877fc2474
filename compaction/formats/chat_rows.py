"""Chat messages in a row, whoever wrote them down, told as events.

Serves every format that is a plain list of messages with a role: chat requests and logs, and transcripts of one message
per line. Messages in Anthropic's block form and in the part form of LLaMA-Factory are read too. Such lists say nothing
of time and little of identity, so a row is known by what it says with an ordinal (see `row_identity`); a record that
names itself and comes twice with the same words is one row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from compaction.formats.anthropic_blocks import is_block_content, take_apart
from compaction.formats.call_pairing import CallPairing
from compaction.formats.events import PassRecorded, ProblemKind, RowAppended, SourceEvent, SourceRow
from compaction.formats.hermes_summaries import is_injected, split_summary
from compaction.formats.row_identity import RowIds, row_key
from compaction.formats.times import epoch_seconds
from compaction.formats.told_once import Tell
from compaction.messages import Message, Role, RowKind
from compaction.wire import message_from_openai
from compaction.wording import worded

_TIME_KEYS = ("timestamp", "ts", "created_at", "created", "time")
_NAME_KEYS = ("id", "uid", "uuid", "message_id", "seq")
# What programs write beside a message and no provider takes.
_SIDE_KEYS = frozenset({*_TIME_KEYS, *_NAME_KEYS, "meta", "kind", "usage", "model", "finish_reason", "session_id"})
_PART_TYPES = frozenset({"text", "reasoning", "tool_call"})


@dataclass(frozen=True, slots=True)
class ChatItem:
    """One record of a list: the message, its JSON text, and where it stands (a line, or a word like "message 7")."""

    message: Mapping[str, object]
    raw: str
    line: int | None = None
    where: str = ""


def chat_events(items: Iterable[ChatItem], tell: Tell) -> Iterator[SourceEvent]:
    """The rows of a list of messages, in order. Summaries that stand in it are passes over rows it no longer holds."""
    told = _ChatRows()
    for item in items:
        yield from told.events(item, tell.at(item.line, item.where))


def chat_messages(item: ChatItem, tell: Tell) -> list[Message]:
    """The messages in one record: one, or the tool results and the words of a message in block form."""
    mapping = {key: value for key, value in item.message.items() if key not in _SIDE_KEYS}
    content = mapping.get("content")
    if is_block_content(content):
        return _from_blocks(message_from_openai({**mapping, "content": ""}, tell), content, tell)
    if _has_value_parts(content):
        mapping = _without_value_parts(mapping, tell)
    return [message_from_openai(mapping, tell)]


class _ChatRows:
    """What has to be remembered from one record to the next."""

    def __init__(self) -> None:
        self._ids = RowIds()
        self._pairing = CallPairing()
        self._named: set[tuple[str, str]] = set()

    def events(self, item: ChatItem, tell: Tell) -> Iterator[SourceEvent]:
        messages = [self._pairing.paired(message) for message in chat_messages(item, tell)]
        name = next((str(item.message[key]) for key in _NAME_KEYS if item.message.get(key) not in (None, "")), "")
        if name:
            identity = (name, " ".join(row_key(message) for message in messages))
            if identity in self._named:
                tell.skip(ProblemKind.REPEATED_RECORD, worded("the record {!r} was there before", name[:60]))
                return
            self._named.add(identity)
        for index, message in enumerate(messages):
            yield from self._message(item, message, is_last=index == len(messages) - 1)

    def _message(self, item: ChatItem, message: Message, is_last: bool) -> Iterator[SourceEvent]:
        row = _row(item, message, is_last)
        split = split_summary(message)
        if row.kind.is_summary:
            yield self._pass(row)
        elif split is None:
            yield RowAppended(self._with_id(row))
        else:
            yield self._pass(replace(row, message=split.summary, kind=split.kind, by_person=False))
            if split.rest is not None:
                yield RowAppended(self._with_id(replace(row, message=split.rest)))

    def _pass(self, row: SourceRow) -> PassRecorded:
        return PassRecorded(row.kind, (), (self._with_id(row),), at=row.at, line=row.line)

    def _with_id(self, row: SourceRow) -> SourceRow:
        return replace(row, foreign_id=self._ids.give(row_key(row.message)))


def _row(item: ChatItem, message: Message, is_last: bool) -> SourceRow:
    record = item.message
    model = record.get("model")
    by_program = _is_by_program(record) or is_injected(message.text)
    row = SourceRow(
        foreign_id="",
        message=message,
        at=next((at for key in _TIME_KEYS if (at := epoch_seconds(record.get(key))) is not None), None),
        kind=_stored_kind(record),
        by_person=message.role is Role.USER and not by_program,
        model=model if isinstance(model, str) else None,
        raw=item.raw,
        line=item.line,
    )
    usage = record.get("usage")
    return with_usage(row, usage) if is_last and isinstance(usage, dict) else row


def with_usage(row: SourceRow, usage: Mapping[str, object]) -> SourceRow:
    """The row with the tokens a provider reported for it, in OpenAI's words or Anthropic's."""
    details = usage.get("prompt_tokens_details")
    thought = usage.get("completion_tokens_details")
    return replace(
        row,
        input_tokens=_count(usage, "prompt_tokens", "input_tokens"),
        output_tokens=_count(usage, "completion_tokens", "output_tokens"),
        cache_read_tokens=_count(details, "cached_tokens") or _count(usage, "cache_read_input_tokens"),
        cache_write_tokens=_count(usage, "cache_creation_input_tokens"),
        reasoning_tokens=_count(thought, "reasoning_tokens"),
    )


def _count(usage: object, *keys: str) -> int | None:
    if not isinstance(usage, dict):
        return None
    counts = (usage.get(key) for key in keys)
    return next((count for count in counts if type(count) is int and count >= 0), None)


def _stored_kind(record: Mapping[str, object]) -> RowKind:
    """The kind that the record itself names; MESSAGE when it names none."""
    meta = record.get("meta")
    sources = (record, meta) if isinstance(meta, dict) else (record,)
    for source in sources:
        kind = source.get("kind")
        if kind == "marker":
            return RowKind.MICRO_SUMMARY if source.get("source") == "micro" else RowKind.BATCH_SUMMARY
        if isinstance(kind, str) and kind in {known.value for known in RowKind}:
            return RowKind(kind)
    return RowKind.MESSAGE


def _is_by_program(record: Mapping[str, object]) -> bool:
    meta = record.get("meta")
    return isinstance(meta, dict) and meta.get("by_person") is False


def _from_blocks(frame: Message, content: object, tell: Tell) -> list[Message]:
    blocks = take_apart(content, tell.note)
    if not blocks.says_something:
        return list(blocks.results)
    calls = (*frame.tool_calls, *blocks.calls)
    said = replace(frame, content=blocks.content, tool_calls=calls, reasoning=blocks.reasoning or frame.reasoning)
    return [*blocks.results, said]


def _has_value_parts(content: object) -> bool:
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("type") in _PART_TYPES and "value" in part for part in parts)


def _without_value_parts(mapping: Mapping[str, object], tell: Tell) -> dict[str, object]:
    """A message whose parts hold their text under `value`, in the provider's form."""
    parts: list[object] = []
    calls: list[object] = []
    thoughts: list[str] = []
    content = mapping["content"]
    for part in content if isinstance(content, list) else []:
        value = part.get("value") if isinstance(part, dict) else None
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "tool_call" and isinstance(value, str):
            calls.append(_call(value, tell))
        elif kind == "reasoning" and isinstance(value, str):
            thoughts.append(value)
        elif kind == "text" and value is not None:
            parts.append({"type": "text", "text": value})
        else:
            parts.append(part)
    found: dict[str, object] = {**mapping, "content": parts or None}
    if calls:
        found["tool_calls"] = calls
    if thoughts:
        found["reasoning_content"] = "\n\n".join(thoughts)
    return found


def _call(text: str, tell: Tell) -> object:
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        tell.note(ProblemKind.ODD_SHAPE, worded("a tool call is no JSON"))
        return {"function": {"name": "", "arguments": text}}
    return {"function": call} if isinstance(call, dict) else {"function": {"name": "", "arguments": text}}
