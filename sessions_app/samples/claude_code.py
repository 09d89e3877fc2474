"""A sample in the form of a Claude Code session file, compacted by hand between its first phase and its second.

One line per content block, as that program writes: blocks of one answer share its message id and repeat its usage,
results are user lines, and lines hang together by parent. The boundary starts a new chain; the summary follows it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

from compaction.messages import Role, ToolCall
from sessions_app.samples.fitting import FIRST_TOKEN_SECONDS, WRITING_SPEED
from sessions_app.samples.transcript import SampleRow, SampleSession

VERSION = "2.1.39"
_LINE_NUMBER = re.compile(r"^ *(\d+)\|", re.MULTILINE)
_CLOSING = re.compile(r"\n?\{\"[^\n]*\}\Z")


@dataclass(slots=True)
class Chain:
    """The lines of a file so far. `parent` is the record the next one hangs on; ids come from the seed."""

    session: SampleSession
    random: Random
    lines: list[str] = field(default_factory=list)
    parent: str | None = None

    def add(self, at: float, kind: str, **facts: Any) -> str:
        """Append a record and return its id."""
        record_id = self.new_id()
        record = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.session.story.cwd,
            "sessionId": self.session.story.session_id,
            "version": VERSION,
            "gitBranch": "lock-files",
            "type": kind,
            **facts,
            "uuid": record_id,
            "timestamp": iso_time(at),
        }
        self.lines.append(compact_json(record))
        self.parent = record_id
        return record_id

    def new_id(self) -> str:
        """The next id."""
        return str(UUID(int=self.random.getrandbits(128), version=4))


def claude_lines(session: SampleSession, summary: str, summary_tokens: int) -> tuple[str, ...]:
    """The file's lines. The context is compacted to `summary` where the second phase begins."""
    chain = Chain(session, Random(f"{session.story.session_id}/claude"))
    first_phase = session.story.phases[0].name
    context_tokens, is_compacted = session.system.tokens, False
    for turn in session.turns:
        if turn.phase != first_phase and not is_compacted:
            add_boundary(chain, turn.rows[0].at - 40.0, context_tokens, summary, summary_tokens)
            context_tokens, is_compacted = session.system.tokens + summary_tokens, True
        for row in turn.rows:
            add_row(chain, row, context_tokens)
            context_tokens += row.tokens
    title = {"type": "summary", "summary": session.story.title, "leafUuid": chain.parent}
    return (compact_json(title), *chain.lines)


def add_boundary(chain: Chain, at: float, context_tokens: int, summary: str, summary_tokens: int) -> None:
    logical_parent, chain.parent = chain.parent, None
    figures = {"preTokens": context_tokens, "postTokens": chain.session.system.tokens + summary_tokens}
    duration_ms = round(1_000 * (FIRST_TOKEN_SECONDS + summary_tokens / WRITING_SPEED))
    chain.add(
        at,
        "system",
        subtype="compact_boundary",
        logicalParentUuid=logical_parent,
        content="Conversation compacted",
        isMeta=False,
        level="info",
        compactMetadata={"trigger": "manual", **figures, "durationMs": duration_ms},
    )
    message = {"role": "user", "content": summary}
    chain.add(at + 1.2, "user", message=message, isVisibleInTranscriptOnly=True, isCompactSummary=True)


def add_row(chain: Chain, row: SampleRow, context_tokens: int) -> None:
    if row.message.role is Role.ASSISTANT:
        add_answer(chain, row, context_tokens)
    elif row.message.role is Role.TOOL:
        result = {"tool_use_id": claude_call_id(row.message.tool_call_id), "type": "tool_result"}
        content = {**result, "content": claude_result(row.message.text)}
        chain.add(row.at, "user", message={"role": "user", "content": [content]})
    else:
        chain.add(row.at, "user", message={"role": "user", "content": row.message.text})


def add_answer(chain: Chain, row: SampleRow, context_tokens: int) -> None:
    """One line per block: thinking, text, calls."""
    message = row.message
    blocks: list[dict[str, Any]] = []
    if message.reasoning:
        blocks.append({"type": "thinking", "thinking": message.reasoning, "signature": ""})
    if message.text:
        blocks.append({"type": "text", "text": message.text})
    blocks += [claude_call(call) for call in message.tool_calls]
    shared = {
        "id": f"msg_{chain.random.getrandbits(80):020x}",
        "type": "message",
        "role": "assistant",
        "model": chain.session.story.model,
        "stop_reason": "tool_use" if message.tool_calls else "end_turn",
        "usage": usage_of(row, context_tokens),
    }
    request = f"req_{chain.random.getrandbits(80):020x}"
    for number, block in enumerate(blocks, 1):
        at = row.at - (len(blocks) - number) * 0.05
        chain.add(at, "assistant", message={**shared, "content": [block]}, requestId=request)


def usage_of(row: SampleRow, context_tokens: int) -> dict[str, int]:
    """What such an answer is billed: everything before it read from the cache but the newest part."""
    fresh = min(context_tokens, 640)
    return {
        "input_tokens": 4,
        "cache_creation_input_tokens": fresh,
        "cache_read_input_tokens": context_tokens - fresh,
        "output_tokens": row.tokens,
    }


def claude_call_id(call_id: str | None) -> str:
    return f"toolu_{(call_id or '').removeprefix('call_')}"


def claude_call(call: ToolCall) -> dict[str, Any]:
    name, arguments = claude_tool(call.name, json.loads(call.arguments))
    return {"type": "tool_use", "id": claude_call_id(call.id), "name": name, "input": arguments}


def claude_tool(name: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool of that program which does the same, with its arguments."""
    match name:
        case "read_file":
            return "Read", {"file_path": given["path"], "offset": given["offset"], "limit": given["limit"]}
        case "search_files":
            return "Grep", {"pattern": given["pattern"], "path": given["path"], "output_mode": "content", "-n": True}
        case "run_tests":
            return "Bash", {"command": f"python -m pytest -v {' '.join(given['targets'])}", "description": "Run tests"}
        case "patch":
            sides = {"old_string": given["old_string"], "new_string": given["new_string"]}
            return "Edit", {"file_path": given["path"], **sides}
        case "write_file":
            return "Write", {"file_path": given["path"], "content": given["content"]}
        case "todo_list":
            return "TodoWrite", given
        case _:
            return "Bash", {"command": given["command"]}


def claude_result(text: str) -> str:
    """The answer as that program shows it: arrows behind line numbers, no closing status line."""
    return _CLOSING.sub("", _LINE_NUMBER.sub("\\1→", text)) or "(no output)"


def iso_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
