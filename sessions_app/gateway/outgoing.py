"""What goes to the main model in place of what the client sent: the same body with the compacted history.

A message of the client's that is live and needs no repair goes out exactly as the client wrote it, so whoever is not
compacted yet loses nothing, not even fields that nobody here knows. Everything else is written from the rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from compaction.messages import Row
from compaction.model_view import ViewMessage, is_system
from compaction.wire import message_to_openai
from sessions_app.gateway.asking import Asked
from sessions_app.main_model.sending import Sending

_REASONING_KEYS: Final = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")


def outgoing_body(asked: Asked, row_keys: tuple[int, ...], sending: Sending, default_model: str) -> bytes:
    """The body to send. row_keys: the row of each told message. default_model: named when the client names none."""
    fields: dict[str, Any] = json.loads(asked.fields)
    if not asked.model and default_model:
        fields["model"] = default_model
    return json.dumps({**fields, "messages": _messages(asked, row_keys, sending)}).encode()


def _messages(asked: Asked, row_keys: tuple[int, ...], sending: Sending) -> list[dict[str, Any]]:
    prompt = [json.loads(text) for text in asked.prompt]
    if not asked.told:
        return prompt
    raw_of = {key: one.raw for key, one in zip(row_keys, asked.told, strict=True)}
    rows = {row.id: row for row in sending.rows}
    entries = list(sending.view.entries)
    if prompt:
        # The client says its system prompt itself; rows that hold one came another way.
        entries = entries[next((n for n, one in enumerate(entries) if not is_system(one.message)), len(entries)) :]
    return prompt + [_written(entry, rows, raw_of) for entry in entries]


def _written(entry: ViewMessage, rows: Mapping[int, Row], raw_of: Mapping[int, str]) -> dict[str, Any]:
    if len(entry.row_ids) > 1 and all(row_id in raw_of for row_id in entry.row_ids):
        return _joined(entry, [json.loads(raw_of[row_id]) for row_id in entry.row_ids])
    row_id = entry.row_ids[0] if len(entry.row_ids) == 1 else None
    if row_id is None or row_id not in raw_of:
        return message_to_openai(entry.message)
    said = rows[row_id].message
    raw: dict[str, Any] = json.loads(raw_of[row_id])
    if entry.message not in (said, replace(said, reasoning=None)):
        return message_to_openai(entry.message)
    if said.reasoning is None:
        return raw
    # Which reasoning goes along is the project's to say, and what the client lost of it the row still has.
    written = message_to_openai(entry.message)
    kept = {key: value for key, value in raw.items() if key not in _REASONING_KEYS}
    return kept | {key: value for key, value in written.items() if key in _REASONING_KEYS}


def _joined(entry: ViewMessage, raws: list[dict[str, Any]]) -> dict[str, Any]:
    """Neighbours that go out as one message. Parts keep the fields their client gave them."""
    written = message_to_openai(entry.message)
    if isinstance(written.get("content"), list):
        written["content"] = [part for raw in raws for part in _parts(raw.get("content"))]
    return written


def _parts(content: object) -> list[Any]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if isinstance(content, str) and content.strip() else []
