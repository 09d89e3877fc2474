"""Records of a Claude Code file, as small values without their text.

A record is one line. Only users', assistants' and a few attached records become rows; a compact_boundary marks a
compaction, and some system records the end of a turn. All others (progress, snapshots, titles) matter at most as a link
in the chain of parents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from compaction.formats.events import ProblemKind
from compaction.formats.json_lines import JsonLine
from compaction.formats.times import epoch_seconds
from compaction.formats.told_once import Tell
from compaction.storable import json_text
from compaction.wording import worded

INTERRUPTED = "[Request interrupted by user"
_QUIET_TYPES = frozenset(
    {"progress", "file-history-snapshot", "queue-operation", "last-prompt", "mode", "permission-mode", "pr-link"}
    | {"system", "attachment", "agent-name", "ai-title", "custom-title"}
)
_TITLE_TYPES = frozenset({"summary", "ai-title", "custom-title"})
_TURN_ENDS = frozenset({"turn_duration", "stop_hook_summary"})


class RecordKind(Enum):
    """What a record is in the conversation."""

    ASSISTANT = auto()
    USER = auto()
    ATTACHMENT = auto()
    SUMMARY = auto()
    BOUNDARY = auto()
    TURN_END = auto()


@dataclass(frozen=True, slots=True)
class Shape:
    """What a message shows of itself without its text.

    result_ids: the calls it answers, in order, "" for a result that names none. says_something: there is more than
    results. interrupts: it is the note that the user stopped the agent.
    """

    message_id: str = ""
    call_ids: tuple[str, ...] = ()
    result_ids: tuple[str, ...] = ()
    says_something: bool = True
    interrupts: bool = False


_NO_MESSAGE = Shape()


@dataclass(frozen=True, slots=True)
class Record:
    """A record that becomes rows or says something about them. `has_parent`: whether it says who its parent is."""

    number: int
    offset: int
    kind: RecordKind
    uuid: str
    parent: str | None
    has_parent: bool
    thread: str
    at: float | None
    shape: Shape = _NO_MESSAGE


@dataclass(frozen=True, slots=True)
class Link:
    """A record that becomes no row but may be the parent of others."""

    uuid: str
    parent: str | None
    thread: str


@dataclass(frozen=True, slots=True)
class Boundary:
    """What a compact_boundary says. preserved: uuids of records that stay, in order; segment: the ends of their run."""

    logical_parent: str | None
    trigger: str | None
    tokens_before: int | None
    tokens_after: int | None
    duration_ms: int | None
    preserved: tuple[str, ...]
    segment: tuple[str, str] | None


def read_record(line: JsonLine, thread: str, tell: Tell) -> Record | Link | None:
    """The record on a line; None when nothing can refer to it. What becomes no row is told with its reason."""
    value = line.value
    kind = _kind(value, tell)
    parent = text_of(value.get("parentUuid")) or None
    uuid = text_of(value.get("uuid"))
    if kind is None:
        return Link(uuid, parent, thread) if uuid else None
    is_message = kind in (RecordKind.ASSISTANT, RecordKind.USER, RecordKind.SUMMARY)
    if is_message:
        _tell_missing(value, tell)
    return Record(
        number=line.number,
        offset=line.offset,
        kind=kind,
        uuid=uuid,
        parent=parent,
        has_parent="parentUuid" in value,
        thread=thread,
        at=epoch_seconds(value.get("timestamp")),
        shape=_shape(message_of(value)) if is_message else _NO_MESSAGE,
    )


def read_boundary(value: Mapping[str, object]) -> Boundary:
    """What a compact_boundary record says; what it leaves out is None."""
    meta = value.get("compactMetadata")
    facts: Mapping[str, object] = meta if isinstance(meta, dict) else {}
    messages, segment = facts.get("preservedMessages"), facts.get("preservedSegment")
    uuids = messages.get("uuids") if isinstance(messages, dict) else None
    ends = [text_of(segment.get(key)) for key in ("headUuid", "tailUuid")] if isinstance(segment, dict) else []
    return Boundary(
        logical_parent=text_of(value.get("logicalParentUuid")) or None,
        trigger=text_of(facts.get("trigger")) or None,
        tokens_before=_count(facts.get("preTokens")),
        tokens_after=_count(facts.get("postTokens")),
        duration_ms=_count(facts.get("durationMs")),
        preserved=tuple(uuid for uuid in uuids if isinstance(uuid, str)) if isinstance(uuids, list) else (),
        segment=(ends[0], ends[1]) if all(ends) and ends else None,
    )


def attachment_text(value: Mapping[str, object]) -> tuple[str, bool] | None:
    """The text of an attachment that reaches the model, and whether a person typed it; None when there is none."""
    attachment = value.get("attachment")
    if not isinstance(attachment, dict):
        return None
    prompt = attachment.get("prompt")
    if attachment.get("type") == "queued_command" and isinstance(prompt, str):
        return prompt, True
    texts = (attachment.get(key) for key in ("content", "snippet", "stdout"))
    return next(((text, False) for text in texts if isinstance(text, str) and text.strip()), None)


def message_of(value: Mapping[str, object]) -> Mapping[str, object]:
    """The provider's message in a record; empty when there is none."""
    message = value.get("message")
    return message if isinstance(message, dict) else {}


def blocks_of(message: Mapping[str, object]) -> list[dict[str, object]]:
    """The content blocks of a message; none when its content is text or odd."""
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def text_of(value: object) -> str:
    """A text as it is, anything else as the empty text."""
    return value if isinstance(value, str) else ""


def _kind(value: Mapping[str, object], tell: Tell) -> RecordKind | None:
    kind, subtype = value.get("type"), value.get("subtype")
    if kind is None and message_of(value).get("role") in ("user", "assistant"):
        tell.note(ProblemKind.MISSING_KEY, worded("the record has no type; its message has a role"))
        kind = message_of(value).get("role")
    if kind in ("user", "assistant"):
        return _kind_of_message(value, str(kind), tell)
    if kind == "system" and subtype == "compact_boundary":
        return RecordKind.BOUNDARY
    if kind == "system" and subtype in _TURN_ENDS:
        return RecordKind.TURN_END
    if kind == "attachment" and attachment_text(value) is not None:
        return RecordKind.ATTACHMENT
    if kind in _QUIET_TYPES:
        tell.skip(ProblemKind.NOT_MODEL_BOUND, _name(value))
    elif kind is None:
        tell.skip(ProblemKind.MISSING_KEY, worded("a record without a type: {}", json_text(value)[:120]))
    elif kind not in _TITLE_TYPES:
        tell.skip(ProblemKind.UNKNOWN_TYPE, worded("type {!r}: {}", str(kind)[:40], json_text(value)[:200]))
    return None


def _kind_of_message(value: Mapping[str, object], kind: str, tell: Tell) -> RecordKind | None:
    if not isinstance(value.get("message"), dict):
        tell.skip(ProblemKind.MISSING_KEY, worded("a record of type {} has no message", kind))
        return None
    if value.get("isCompactSummary"):
        return RecordKind.SUMMARY
    if value.get("isApiErrorMessage"):
        tell.skip(ProblemKind.NOT_MODEL_BOUND, worded("an error message of the program, not of the model"))
        return None
    if value.get("isVisibleInTranscriptOnly"):
        tell.skip(ProblemKind.NOT_MODEL_BOUND, worded("shown in the transcript only"))
        return None
    return RecordKind.ASSISTANT if kind == "assistant" else RecordKind.USER


def _name(value: Mapping[str, object]) -> str:
    """A record's type and the type of what it carries, for people."""
    data = value.get("data")
    inner = value.get("subtype") or (data.get("type") if isinstance(data, dict) else None)
    return f"{value.get('type')} ({inner})" if isinstance(inner, str) else str(value.get("type"))


def _tell_missing(value: Mapping[str, object], tell: Tell) -> None:
    missing = [key for key in ("uuid", "sessionId", "timestamp") if not value.get(key)]
    if "parentUuid" not in value:
        missing.append("parentUuid")
    if missing:
        tell.note(ProblemKind.MISSING_KEY, worded("the record has no {}", ", ".join(missing)))


def _shape(message: Mapping[str, object]) -> Shape:
    content = message.get("content")
    blocks = blocks_of(message)
    results = [block for block in blocks if block.get("type") == "tool_result"]
    calls = [text_of(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
    length = len(content) if isinstance(content, list) else 0
    first = text_of(content) or next((text_of(block.get("text")) for block in blocks), "")
    return Shape(
        message_id=text_of(message.get("id")),
        call_ids=tuple(call for call in calls if call),
        result_ids=tuple(text_of(block.get("tool_use_id")) for block in results),
        says_something=not results or length > len(results),
        interrupts=first.startswith(INTERRUPTED),
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
