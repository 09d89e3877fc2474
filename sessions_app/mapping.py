"""Stored columns to engine values and back: the only file that knows both.

Must not query, write or decide. The idea: whatever goes into PostgreSQL passes here once and is made storable (text
without NUL and lone surrogates, figures within their column, times that exist), so that one bad value can never block
the rows after it. A row whose text had to be changed says so in `is_repaired`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from compaction.edits import Edit, NewRow
from compaction.messages import (
    Content,
    ImagePart,
    Message,
    OtherPart,
    Part,
    Role,
    Row,
    RowKey,
    RowKind,
    TextPart,
    ToolCall,
    opens_turn,
)
from compaction.state import CompactionState
from compaction.storable import is_storable, storable_text
from compaction.wording import wording_to_json
from sessions_app.models import MessageRow

MAX_ID_CHARACTERS: Final = 200
MAX_INT4: Final = 2**31 - 1
MAX_INT8: Final = 2**63 - 1


class RowColumns(NamedTuple):
    """The columns a `Row` is made of, in the order in which they are read; all others of a stored row are for people.

    parts, tool_calls: as `row_from_columns` gets them, the text of the stored JSON.
    """

    id: int
    position: int
    kind: str
    role: str
    content: str | None
    parts: Any
    tool_calls: Any
    tool_call_id: str | None
    name: str | None
    reasoning: str | None
    message_extras: str
    by_person: bool
    tokens: int
    reasoning_tokens: int | None


class OutlineColumns(NamedTuple):
    """The columns an outline is made of, in the order in which they are read."""

    id: int
    position: int
    kind: str
    role: str
    by_person: bool
    tokens: int


class StoredOutline(NamedTuple):
    """A row without its words: an engine's `RowOutline`."""

    key: RowKey
    role: Role
    tokens: int
    is_summary: bool
    opens_turn: bool


ROW_COLUMNS: Final = RowColumns._fields
OUTLINE_COLUMNS: Final = OutlineColumns._fields


def storable_or_none(text: str | None) -> str | None:
    """`storable_text`, with unknown staying unknown."""
    return None if text is None else storable_text(text)


def storable_json(value: Any) -> Any:
    """JSON data with all its texts made storable, wordings in the form they are kept in; numbers that JSON has no word
    for become null."""
    if isinstance(value, str):
        return wording_to_json(storable_text(value))
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, Mapping):
        return {storable_text(str(key)): storable_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(item) for item in value]
    return value


def storable_id(text: str) -> str:
    """An identity as it is stored: long ones become a digest, because an index entry has a size limit."""
    clean = storable_text(text)
    if len(clean) <= MAX_ID_CHARACTERS:
        return clean
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def storable_count(value: int | None, limit: int = MAX_INT8) -> int | None:
    """A count that fits its column; a negative or absurd one is unknown."""
    return value if value is not None and 0 <= value <= limit else None


def storable_time(epoch_seconds: float | None) -> datetime | None:
    """The moment `epoch_seconds` after 1970, or None when it is unknown or no date."""
    if epoch_seconds is None:
        return None
    try:
        return datetime.fromtimestamp(epoch_seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _texts(message: Message) -> list[str]:
    texts = [message.extras, message.tool_call_id or "", message.name or "", message.reasoning or ""]
    if isinstance(message.content, str):
        texts.append(message.content)
    for part in message.content if isinstance(message.content, tuple) else ():
        texts.append(part.text if isinstance(part, TextPart) else part.raw)
    for call in message.tool_calls:
        texts += [call.id or "", call.name, call.arguments, call.extras, *call.aliases]
    return texts


def new_message_row(
    session_id: int,
    message: Message,
    *,
    position: int,
    born_seq: int,
    tokens: int,
    token_counter: str,
    reasoning_tokens: int | None = None,
    kind: RowKind = RowKind.MESSAGE,
    by_person: bool = True,
) -> MessageRow:
    """An unsaved row for `message`. What a source alone knows (ids, times, usage) is set by the caller."""
    return MessageRow(
        session_id=session_id,
        position=position,
        born_seq=born_seq,
        kind=kind.value,
        role=message.role.value,
        content=storable_text(message.content) if isinstance(message.content, str) else None,
        parts=[_part_json(part) for part in message.content] if isinstance(message.content, tuple) else None,
        tool_calls=[_call_json(call) for call in message.tool_calls] or None,
        tool_call_id=storable_or_none(message.tool_call_id),
        name=storable_or_none(message.name),
        reasoning=storable_or_none(message.reasoning),
        message_extras=storable_text(message.extras),
        by_person=by_person,
        tokens=min(tokens, MAX_INT4),
        reasoning_tokens=storable_count(reasoning_tokens, MAX_INT4),
        token_counter=token_counter,
        is_repaired=not all(map(is_storable, _texts(message))),
    )


def message_of(row: MessageRow | RowColumns) -> Message:
    """The message a stored row holds."""
    return Message(
        role=Role(row.role),
        content=_content_of(row),
        tool_calls=tuple(_call_of(call) for call in row.tool_calls or ()),
        tool_call_id=row.tool_call_id,
        name=row.name,
        reasoning=row.reasoning,
        extras=row.message_extras,
    )


MESSAGE_COLUMNS: Final = (
    *("role", "content", "parts", "tool_calls", "tool_call_id", "name", "reasoning", "message_extras"),
)


def message_columns(row: MessageRow) -> dict[str, Any]:
    """The columns that hold a row's message."""
    return {name: getattr(row, name) for name in MESSAGE_COLUMNS}


def message_from_columns(told: Mapping[str, Any]) -> Message:
    """The message that `message_columns` told. Raises KeyError, TypeError or ValueError when it is none."""
    content, parts = told["content"], told["parts"]
    texts = (told["tool_call_id"], told["name"], told["reasoning"], content)
    if not all(text is None or isinstance(text, str) for text in texts) or not isinstance(told["message_extras"], str):
        raise TypeError("a text of the message is none")
    return Message(
        role=Role(told["role"]),
        content=content if parts is None else tuple(_checked_part(part) for part in parts),
        tool_calls=tuple(_checked_call(call) for call in told["tool_calls"] or ()),
        tool_call_id=told["tool_call_id"],
        name=told["name"],
        reasoning=told["reasoning"],
        extras=told["message_extras"],
    )


def _checked_part(told: Mapping[str, Any]) -> Part:
    if not all(isinstance(value, str) for value in told.values()):
        raise TypeError("a part of the message is no text")
    return _part_of(told)


def _checked_call(told: Mapping[str, Any]) -> ToolCall:
    call = _call_of(told)
    if not all(isinstance(text, str) for text in (call.name, call.arguments, call.extras, *call.aliases)):
        raise TypeError("a part of the call is no text")
    if call.id is not None and not isinstance(call.id, str):
        raise TypeError("the id of the call is no text")
    return call


def row_of(row: MessageRow | RowColumns) -> Row:
    """The engine's row for a stored row. Reads `ROW_COLUMNS` and nothing else."""
    return Row(
        id=row.id,
        position=row.position,
        message=message_of(row),
        tokens=row.tokens,
        kind=RowKind(row.kind),
        by_person=row.by_person,
        reasoning_tokens=row.reasoning_tokens,
    )


def row_from_columns(columns: RowColumns) -> Row:
    """The engine's row for columns as a plain cursor reads them."""
    if columns.parts is None and columns.tool_calls is None:
        return row_of(columns)
    parts = None if columns.parts is None else json.loads(columns.parts)
    tool_calls = None if columns.tool_calls is None else json.loads(columns.tool_calls)
    return row_of(columns._replace(parts=parts, tool_calls=tool_calls))


def outline_columns(columns: RowColumns) -> OutlineColumns:
    """The columns of an outline among those of a row."""
    return OutlineColumns(*(getattr(columns, name) for name in OUTLINE_COLUMNS))


def outline_of(columns: OutlineColumns) -> StoredOutline:
    """The engine's outline for columns as a plain cursor reads them."""
    role, kind = Role(columns.role), RowKind(columns.kind)
    return StoredOutline(
        key=RowKey(columns.position, columns.id),
        role=role,
        tokens=columns.tokens,
        is_summary=kind.is_summary,
        opens_turn=opens_turn(role, kind, columns.by_person),
    )


def _content_of(row: MessageRow | RowColumns) -> Content:
    if row.parts is not None:
        return tuple(_part_of(part) for part in row.parts)
    return row.content


def _part_json(part: Part) -> dict[str, str]:
    match part:
        case TextPart(text):
            return {"part": "text", "text": storable_text(text)}
        case ImagePart(raw):
            return {"part": "image", "raw": storable_text(raw)}
        case OtherPart(type, raw):
            return {"part": "other", "type": storable_text(type), "raw": storable_text(raw)}


def _part_of(stored: Mapping[str, str]) -> Part:
    if stored["part"] == "text":
        return TextPart(stored["text"])
    if stored["part"] == "image":
        return ImagePart(stored["raw"])
    return OtherPart(stored["type"], stored["raw"])


def _call_json(call: ToolCall) -> dict[str, Any]:
    return {
        "id": storable_or_none(call.id),
        "name": storable_text(call.name),
        "arguments": storable_text(call.arguments),
        "aliases": [storable_text(alias) for alias in call.aliases],
        "extras": storable_text(call.extras),
    }


def _call_of(stored: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        id=stored["id"],
        name=stored["name"],
        arguments=stored["arguments"],
        aliases=tuple(stored["aliases"]),
        extras=stored["extras"],
    )


def state_json(state: CompactionState) -> dict[str, Any]:
    """The engine's state as it is stored with the session."""
    stored: dict[str, Any] = storable_json(state.to_mapping())
    return stored


def state_of(stored: Mapping[str, Any]) -> CompactionState:
    """The engine's state of a session. Raises InvalidInput when a newer version of the site wrote it."""
    return CompactionState.from_mapping(stored)


def key_json(key: RowKey | None) -> list[int] | None:
    """A place in the order of rows as it is stored: [position, id]."""
    return None if key is None else [key.position, key.id]


def key_of(stored: Sequence[int] | None) -> RowKey | None:
    """The place that `key_json` stored."""
    return None if stored is None else RowKey(stored[0], stored[1])


def edit_json(edit: Edit, inserted_ids: Sequence[int]) -> dict[str, Any]:
    """What a pass did to the rows, by id. The text of inserted rows is theirs alone and is not stored twice."""
    inserted = [_new_row_json(new, row_id) for new, row_id in zip(edit.inserted, inserted_ids, strict=True)]
    return {"archived": list(edit.archived), "superseded": list(edit.superseded), "inserted": inserted}


def _new_row_json(new: NewRow, row_id: int) -> dict[str, Any]:
    return {
        "id": row_id,
        "kind": new.kind.value,
        "position": new.position,
        "tokens": new.tokens,
        "replaces": new.replaces,
    }


def json_text(value: Any) -> str | None:
    """JSON for a jsonb column of a COPY; unknown stays unknown."""
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
