"""What the tools did in a stretch of transcript, as facts: files touched, commands with their result, errors.

Each call becomes one short entry. Names of tools differ between agents, so entries go by what the arguments hold: a
command, a path, a query, an address. Text of results is quoted, never interpreted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compaction.anchors import command_of
from compaction.messages import Message, Role, ToolCall
from compaction.sentences import clip
from compaction.tool_pairs import call_ids, result_id

_PATH_KEYS: Final = (
    "path",
    "file_path",
    "filePath",
    "filename",
    "file",
    "notebook_path",
    "target_file",
    "relative_path",
)
_QUERY_KEYS: Final = ("pattern", "query", "regex", "url", "q", "glob", "question", "goal", "prompt", "description")
_OUTPUT_KEYS: Final = ("output", "stdout", "stderr", "error", "result")
_ARGUMENT_CHARS: Final = 40
_PATCH_FILE: Final = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ b/)(\S+)", re.MULTILINE)
_EXIT: Final = re.compile(r"\bexit(?:ed with| status| code|_code\"?:)?\s*:?\s*(\d{1,3})\b", re.IGNORECASE)
_VERDICT: Final = re.compile(
    r"^.*(?:\b\d+ (?:passed|failed|errors?)\b|\btests? (?:passed|failed)\b|\bOK\b|\bBUILD \w+|nothing to commit).*$",
    re.MULTILINE | re.IGNORECASE,
)
_ERROR: Final = re.compile(
    r"^.*(?:\b\w*(?:Error|Exception)\b:?.*|\bFAILED\b.*|\bfatal:.*|\bpanic:.*|\berror[:\[].*|错误.*|失败.*)$",
    re.MULTILINE,
)
_REPEATED: Final = re.compile(r"([.=\-_#*~ ])\1{5,}")
_WRITING_NAME: Final = re.compile(r"write|edit|patch|create|replace|insert|update|append|save", re.IGNORECASE)
_ENTRY_CHARS: Final = 150
_SCANNED_CHARS: Final = 30_000


@dataclass(frozen=True, slots=True)
class ToolFact:
    """One thing a tool did. `subject` is the path, command or query; errors carry the error line in `outcome`."""

    subject: str
    outcome: str
    is_write: bool
    is_error: bool
    is_command: bool

    @property
    def entry(self) -> str:
        """The fact as one line."""
        return f"`{self.subject}`" + (f" → {self.outcome}" if self.outcome else "")


def tool_facts(messages: Sequence[Message]) -> Iterator[ToolFact]:
    """One fact per call that can be told in a line, in order."""
    results = {result_id(message): message.text for message in messages if message.role is Role.TOOL}
    for message in messages:
        for call in message.tool_calls:
            output = next((results[name] for name in call_ids(call) if name in results), "")
            fact = _fact(call, _unwrapped(output[:_SCANNED_CHARS]))
            if fact is not None:
                yield fact


def _unwrapped(output: str) -> str:
    """The text inside a result that is a JSON object with one main text; the result itself otherwise."""
    if not output.startswith("{"):
        return output
    try:
        loaded = json.loads(output)
    except (ValueError, RecursionError):
        return output
    texts = [loaded[key] for key in _OUTPUT_KEYS if isinstance(loaded.get(key), str)]
    code = loaded.get("exit_code", 0)
    return "\n".join([*texts, f"exit {code}"]) if texts else output


def _fact(call: ToolCall, output: str) -> ToolFact | None:
    command = command_of(call.arguments)
    if command:
        error = _error_line(output)
        outcome = _command_outcome(output, error)
        return ToolFact(clip(" ".join(command.split()), _ENTRY_CHARS), outcome, False, bool(error), True)
    subject, is_patch = _subject(call)
    if not subject:
        return None
    error = _error_line(output) if len(output) < 2_000 else ""
    is_write = is_patch or bool(_WRITING_NAME.search(call.name))
    named = subject if "/" in subject and " in " not in subject else f"{call.name} {subject}"
    return ToolFact(clip(named, _ENTRY_CHARS), clip(error, _ENTRY_CHARS), is_write, bool(error), False)


def _subject(call: ToolCall) -> tuple[str, bool]:
    """What the call is about, and whether it is a patch."""
    patched = _PATCH_FILE.findall(call.arguments.replace("\\n", "\n"))
    if patched:
        return ", ".join(dict.fromkeys(patched)), True
    arguments = _arguments(call)
    sought = next((arguments[key] for key in ("pattern", "regex") if isinstance(arguments.get(key), str)), "")
    if sought:
        place = next((arguments[key] for key in _PATH_KEYS if isinstance(arguments.get(key), str)), "")
        return f"{_short(sought)} in {place}" if place else _short(sought), False
    for key in (*_PATH_KEYS, *_QUERY_KEYS):
        value = arguments.get(key)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split()), False
    return ", ".join(f"{key}={_short(value)}" for key, value in list(arguments.items())[:4]), False


def _short(value: Any) -> str:
    """An argument as a word or two."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clip(" ".join(text.split()), _ARGUMENT_CHARS)


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        loaded = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _command_outcome(output: str, error: str) -> str:
    exit_code = _EXIT.search(output)
    verdicts = [_REPEATED.sub(r"\1", found[0]).strip(" =.") for found in _VERDICT.finditer(output)]
    telling = verdicts[-1] if verdicts else error
    parts = [f"exit {exit_code[1]}"] if exit_code and exit_code[1] != "0" else []
    return clip(", ".join([*parts, *([" ".join(telling.split())] if telling else [])]), _ENTRY_CHARS)


def _error_line(output: str) -> str:
    """The last line that reports an error: tools print the cause at the end."""
    lines = [found[0] for found in _ERROR.finditer(output)]
    return clip(" ".join(lines[-1].split()), _ENTRY_CHARS) if lines else ""
