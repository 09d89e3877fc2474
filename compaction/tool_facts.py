"""What the tools did in a stretch of transcript, as facts: files changed and read, commands with their verdict, other
actions, and the agent's own task list.

Names of tools differ between agents, so facts go by what the arguments hold: a command, a path, a patch, a list of
tasks. Text of results is quoted, never interpreted beyond "did it work".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compaction.commands import command_key, command_of, commit_subject, is_telling_command
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
_OUTPUT_KEYS: Final = ("output", "stdout", "stderr", "error", "result", "content")
_PATCHED: Final = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ b/)(\S+)", re.MULTILINE)
_CHANGING_FILE: Final = re.compile(
    r"write|edit|patch|create|replace|insert|append|save|notebook|delete_file", re.IGNORECASE
)
_EDITOR_COMMANDS: Final = frozenset({"create", "str_replace", "insert", "undo_edit"})
# Verbs of tools that change something outside the files: bookings, messages, tickets.
_ACTING: Final = frozenset({
    "book", "cancel", "update", "modify", "create", "send", "delete", "remove", "add", "set", "transfer", "return",
    "exchange", "submit", "post", "merge", "close", "assign", "schedule", "pay", "purchase", "order", "register",
    "publish", "deploy", "comment",
})  # fmt: skip
_NAME_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_TESTING_COMMAND: Final = re.compile(r"test|lint|check|build|mypy|ruff|tsc|clippy|eslint|vet|compile", re.IGNORECASE)
_EXIT_FAILED: Final = re.compile(r"nothing to commit|exit code [1-9]|^(?:error|fatal):", re.IGNORECASE | re.MULTILINE)
_EXIT: Final = re.compile(
    r"(?:\bexit(?:ed)?(?: with)?(?: status| code)|\"?exit_code\"?|returned? code)\s*[:=]?\s*\"?(-?\d{1,3})\b",
    re.IGNORECASE,
)
_VERDICT: Final = re.compile(
    r"^.*(?:\b\d+ (?:passed|failed|errors?|failing|passing)\b|\btests?:? .{0,20}\b(?:passed|failed)\b|test result: \w+|"
    r"^ok\s+\S+|^FAIL\b|^PASS\b|\bBUILD \w+|nothing to commit|\bfiles? changed\b|Found \d+ (?:errors?|problems?)|"
    r"All checks passed|Success: no issues|no issues found).*$",
    re.MULTILINE | re.IGNORECASE,
)
_ERROR: Final = re.compile(
    r"^.*(?:\b\w*(?:Error|Exception)\b:.*|\bAssertionError\b.*|--- FAIL.*|\bFAILED\b.*|\bfatal:.*|\bpanic:.*|"
    r"\berror(?:\[\w+\]|\b TS\d+)?:.*|: command not found|^\S+:\d+:\d+: .+|"
    r"No such file or directory|Permission denied|错误[:：].*|失败.*)$",
    re.MULTILINE,
)
_BAD_VERDICT: Final = re.compile(
    r"\b[1-9]\d* (?:failed|errors?|failing)\b|^FAIL\b|BUILD FAIL|Found [1-9]|result: FAILED", re.IGNORECASE
)
_RULER: Final = re.compile(r"([.=\-_#*~ ])\1{3,}")
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f]")
_COMMAND_CHARS: Final = 110
_OUTCOME_CHARS: Final = 150
_ARGUMENT_CHARS: Final = 40
_SCANNED_CHARS: Final = 30_000


@dataclass(frozen=True, slots=True)
class CommandFact:
    """A command and how it ended. key: what makes two runs the same command. ok: None when its result doesn't tell."""

    text: str
    key: str
    ok: bool | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Todo:
    """An item of the agent's own task list, not done yet."""

    text: str
    is_active: bool


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """All facts of a stretch, each in order of appearance.

    commits: subjects of commits made. actions: calls that changed something outside the files. todos: open items of
    the newest task list; None when no list was written.
    """

    commits: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    commands: tuple[CommandFact, ...] = ()
    actions: tuple[str, ...] = ()
    todos: tuple[Todo, ...] | None = None


def tool_facts(messages: Sequence[Message]) -> ToolFacts:
    """What the calls in `messages` did, by the results that stand in `messages` too."""
    changed: list[str] = []
    read: list[str] = []
    commits: list[str] = []
    commands: list[CommandFact] = []
    actions: list[str] = []
    todos: tuple[Todo, ...] | None = None
    for call, output in _calls(messages):
        arguments = _arguments(call)
        listed = _todos(arguments)
        paths = _paths(call, arguments)
        command = "" if call.name.startswith("str_replace") else command_of(call.arguments)
        if listed is not None:
            todos = listed
        elif paths:
            (changed if _changes_files(call, arguments) else read).extend(paths)
        elif command:
            subject = commit_subject(command)
            if subject and not _EXIT_FAILED.search(output):
                commits.append(clip(subject, _OUTCOME_CHARS))
            else:
                commands.extend(_command(command, output))
        elif _ACTING.intersection(word.lower() for word in _NAME_WORDS.findall(call.name)):
            actions.append(_action(call, arguments, output))
    return ToolFacts(tuple(commits), _newest_last(changed), _newest_last(read), tuple(commands), tuple(actions), todos)


def _calls(messages: Sequence[Message]) -> Iterator[tuple[ToolCall, str]]:
    results = {result_id(message): message.text for message in messages if message.role is Role.TOOL}
    for message in messages:
        for call in message.tool_calls:
            output = next((results[name] for name in call_ids(call) if name in results), "")
            yield call, _unwrapped(output[:_SCANNED_CHARS])


def _newest_last(texts: Iterable[str]) -> tuple[str, ...]:
    """Each text once, at its last place."""
    return tuple(reversed(dict.fromkeys(reversed(list(texts)))))


def _unwrapped(output: str) -> str:
    """The text inside a result that is a JSON object with one main text; the result itself otherwise."""
    if not output.startswith("{"):
        return output
    try:
        loaded = json.loads(output)
    except (ValueError, RecursionError):
        return output
    texts = [loaded[key] for key in _OUTPUT_KEYS if isinstance(loaded.get(key), str)]
    metadata = loaded.get("metadata")
    code = loaded.get("exit_code", metadata.get("exit_code") if isinstance(metadata, dict) else None)
    return "\n".join([*texts, *([f"exit code {code}"] if code is not None else [])]) if texts else output


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        loaded = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _paths(call: ToolCall, arguments: Mapping[str, Any]) -> list[str]:
    patched = (
        _PATCHED.findall(call.arguments.replace("\\n", "\n"))
        if "***" in call.arguments or "+++" in call.arguments
        else []
    )
    if patched:
        return list(dict.fromkeys(patched))
    if "pattern" in arguments or "regex" in arguments or "query" in arguments:
        return []
    path = next((arguments[key] for key in _PATH_KEYS if isinstance(arguments.get(key), str)), "")
    return [path.strip()] if path.strip() and "\n" not in path and len(path) < 200 else []


def _changes_files(call: ToolCall, arguments: Mapping[str, Any]) -> bool:
    command = arguments.get("command")
    if call.name.startswith("str_replace") and isinstance(command, str):
        return command in _EDITOR_COMMANDS
    is_patch = "***" in call.arguments and _PATCHED.search(call.arguments.replace("\\n", "\n")) is not None
    return is_patch or _CHANGING_FILE.search(call.name) is not None


def _todos(arguments: Mapping[str, Any]) -> tuple[Todo, ...] | None:
    items = arguments.get("todos", arguments.get("plan", arguments.get("task_list")))
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        return None
    open_items = [item for item in items if item.get("status") not in ("completed", "done", "cancelled")]
    return tuple(
        Todo(clip(" ".join(text.split()), _OUTCOME_CHARS), item.get("status") in ("in_progress", "active"))
        for item in open_items
        if (text := str(item.get("content") or item.get("step") or item.get("title") or item.get("description") or ""))
    )


def _action(call: ToolCall, arguments: Mapping[str, Any], output: str) -> str:
    shown = ", ".join(f"{key}={_short(value)}" for key, value in list(arguments.items())[:4])
    error = _error_line(output) if len(output) < 2_000 else ""
    return f"`{call.name}({clip(shown, _COMMAND_CHARS)})`" + (f" failed: {error}" if error else "")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clip(" ".join(text.split()), _ARGUMENT_CHARS)


def _command(command: str, output: str) -> Iterator[CommandFact]:
    if not is_telling_command(command):
        return
    key = command_key(command)
    output = _CONTROL.sub("", output)
    exit_code = _EXIT.search(output[:400]) or _EXIT.search(output[-400:])
    verdict = _last_line(_VERDICT, output)
    failed_exit = exit_code is not None and exit_code[1] != "0"
    is_bad = failed_exit or bool(verdict and _BAD_VERDICT.search(verdict))
    # Without an exit code, only tests and checks are believed by what they print.
    error = (
        _error_line(output) if is_bad or (exit_code is None and not verdict and _TESTING_COMMAND.search(key)) else ""
    )
    is_bad = is_bad or bool(error)
    ok = False if is_bad else True if exit_code is not None or verdict else None
    parts = [f"exit {exit_code[1]}"] if failed_exit and exit_code else []
    parts += [text for text in dict.fromkeys((verdict, error)) if text and (is_bad or text == verdict)]
    yield CommandFact(clip(key, _COMMAND_CHARS), key.casefold(), ok, clip("; ".join(parts), _OUTCOME_CHARS))


def _last_line(pattern: re.Pattern[str], output: str) -> str:
    lines = [found[0] for found in pattern.finditer(output)]
    return " ".join(_RULER.sub(" ", lines[-1]).split()).strip(" =.-") if lines else ""


def _error_line(output: str) -> str:
    """The last line that reports an error: tools print the cause at the end."""
    return clip(_last_line(_ERROR, output), _OUTCOME_CHARS)
