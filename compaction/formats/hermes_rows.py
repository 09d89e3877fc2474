"""Rows of Hermes, as any of its stores holds them, as messages.

A record is a row's columns by name: from state.db, from an export line or from a snapshot. Columns come and go between
versions, so each is looked up by name and may be missing. What compaction needs to know of a row is a `StoredRow`; the
text itself is read again when the row's turn comes, so that a large session never lies in memory as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from compaction.formats.events import ProblemKind, SourceRow
from compaction.formats.hermes_summaries import SplitSummary, is_injected, split_summary
from compaction.formats.row_identity import row_key
from compaction.formats.times import epoch_seconds
from compaction.formats.told_once import Tell
from compaction.messages import Message, Role, RowKind
from compaction.storable import json_text, storable_value
from compaction.wire import message_from_openai
from compaction.wording import worded

Record = Mapping[str, object]

_JSON_MARK = "\x00json:"


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A stored row as folding sees it, without its text (user texts apart, which a pass may have joined).

    number: by which the store finds the row again; rows are ordered by it. uid: the row's own identity, kept when it is
    copied; empty when the store has none. key and summary_key: what the row says and the summary merged into it, empty
    when there is none. call_key: the call a result answers or the calls a row makes, by which a rewritten copy is
    known. at: epoch seconds, None when unknown; only good for telling what a pass found from what came after it.
    is_copy: an earlier row of the session has the same identity.
    """

    number: int
    uid: str
    role: Role
    key: str
    summary_key: str
    call_key: str
    user_text: str | None
    at: float | None
    is_active: bool
    is_compacted: bool
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class RowText:
    """A record read whole: its message without a summary (None: only a summary) and the summary, if any."""

    message: Message | None
    split: SplitSummary | None


def read_text(record: Record, tell: Tell) -> RowText:
    """The message in a record, taken apart when a summary was merged into it."""
    message = message_from_openai(_provider_keys(record, tell), tell)
    flag = record.get("_compressed_summary")
    split = split_summary(message) if flag is None or flag else None
    if split is None and flag:
        split = SplitSummary(RowKind.BATCH_SUMMARY, message, None)  # the store says so, whatever its words are
    if split is None:
        return RowText(message, None)
    return RowText(split.rest, split)


def stored_row(number: int, record: Record, text: RowText) -> StoredRow:
    """What folding needs to know of a record."""
    message = text.message
    is_user_text = message is not None and message.role is Role.USER and isinstance(message.content, str)
    speaker = message or (text.split.summary if text.split else Message(Role.USER))
    return StoredRow(
        number=number,
        uid=_text(record.get("message_uid")),
        role=speaker.role,
        key=row_key(message) if message else "",
        summary_key=row_key(text.split.summary) if text.split else "",
        call_key=_call_key(message) if message else "",
        user_text=message.text if message and is_user_text else None,
        at=epoch_seconds(record.get("timestamp")),
        is_active=record.get("active") in (1, None, True),
        is_compacted=bool(record.get("compacted")),
    )


def live_row(foreign_id: str, record: Record, message: Message, kind: RowKind = RowKind.MESSAGE) -> SourceRow:
    """The row a record stands for."""
    is_by_program = bool(record.get("display_kind")) and record.get("display_kind") != "steer"
    return SourceRow(
        foreign_id=foreign_id,
        message=message,
        at=epoch_seconds(record.get("timestamp")),
        kind=kind,
        by_person=message.role is Role.USER and not (is_by_program or is_injected(message.text)),
        raw=raw_text(record),
    )


def summary_row(foreign_id: str, record: Record, split: SplitSummary) -> SourceRow:
    """The summary in a record as a row of its own. A merged one has no time: the record's is that of the message."""
    at = epoch_seconds(record.get("timestamp")) if split.rest is None else None
    return SourceRow(foreign_id, split.summary, at, split.kind, by_person=False, raw=raw_text(record))


def raw_text(record: Record) -> str:
    """The record as JSON text, without empty columns and binary ones."""
    kept = {key: value for key, value in record.items() if value is not None and not isinstance(value, bytes)}
    return json_text(storable_value(kept))


def _provider_keys(record: Record, tell: Tell) -> dict[str, object]:
    """The provider's message in a record: the columns that reach the model, under the provider's names."""
    keys: dict[str, object] = {"role": record.get("role"), "content": _decoded(record.get("content"))}
    if record.get("role") is None:
        del keys["role"]
    calls = _json_column(record.get("tool_calls"), "tool_calls", tell)
    if calls:
        keys["tool_calls"] = calls
    if record.get("tool_call_id") is not None:
        keys["tool_call_id"] = record.get("tool_call_id")
    name = record.get("tool_name") or record.get("name")
    if name is not None:
        keys["name"] = name
    for column in ("reasoning_content", "reasoning"):
        if isinstance(record.get(column), str) and record.get(column):
            keys[column] = record[column]
    details = _json_column(record.get("reasoning_details"), "reasoning_details", tell)
    if details:
        keys["reasoning_details"] = details
    return keys


def _decoded(content: object) -> object:
    """Content that was stored as JSON behind a NUL mark, or content as it is."""
    if isinstance(content, bytes):
        content = content.decode("utf-8", "replace")
    if not isinstance(content, str) or not content.startswith(_JSON_MARK):
        return content
    try:
        decoded: object = json.loads(content.removeprefix(_JSON_MARK), strict=False)
    except (ValueError, RecursionError):
        return content.removeprefix("\x00")
    return decoded


def _json_column(value: object, name: str, tell: Tell) -> object:
    if not isinstance(value, str) or not value.strip():
        return value if value != "" else None
    try:
        return json.loads(value, strict=False)
    except (ValueError, RecursionError):
        tell.note(ProblemKind.ODD_SHAPE, worded("the column {} is no JSON and was left out", name))
        return None


def _call_key(message: Message) -> str:
    if message.role is Role.TOOL:
        return f"result {message.tool_call_id}" if message.tool_call_id else ""
    ids = [call.id for call in message.tool_calls if call.id]
    return " ".join(["calls", *ids]) if ids else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
