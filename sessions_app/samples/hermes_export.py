"""A sample in the form of Hermes' `sessions export`: one session per line, its messages inside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from compaction.messages import Role, ToolCall
from sessions_app.samples.transcript import SampleRow, SampleSession


def export_line(session: SampleSession) -> str:
    """The session as one line of JSON, without the line's end. What a live store would not know is null."""
    story, rows = session.story, session.rows
    facts = {
        "id": story.session_id,
        "source": "cli",
        "user_id": None,
        "model": story.model,
        "model_config": None,
        "system_prompt": session.system.message.text,
        "parent_session_id": None,
        "started_at": float(story.started_at),
        "ended_at": rows[-1].at,
        "end_reason": "user_exit",
        "message_count": len(rows) - 1,
        "tool_call_count": sum(len(row.message.tool_calls) for row in rows),
        "input_tokens": None,
        "output_tokens": None,
        "cwd": story.cwd,
        "title": story.title,
        "messages": list(export_messages(session)),
    }
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def export_messages(session: SampleSession) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(session.rows[1:], 1):
        yield export_message(number, session.story.session_id, row)


def export_message(number: int, session_id: str, row: SampleRow) -> dict[str, Any]:
    message = row.message
    facts: dict[str, Any] = {
        "id": number,
        "session_id": session_id,
        "role": message.role.value,
        "content": message.content if isinstance(message.content, str) else "",
        "timestamp": row.at,
        "token_count": None,
        "active": 1,
        "compacted": 0,
    }
    if message.tool_calls:
        facts["tool_calls"] = [export_call(call) for call in message.tool_calls]
    if message.role is Role.TOOL:
        facts |= {"tool_call_id": message.tool_call_id, "tool_name": message.name}
    if row.finish_reason:
        facts |= {"finish_reason": row.finish_reason, "reasoning": message.reasoning}
    return facts


def export_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
