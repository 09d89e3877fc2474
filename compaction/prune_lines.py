"""One line for a tool result: which tool, asked what, and what came of it.

A line stands for a result that was shortened, so it must tell an agent enough to decide whether to ask again. The
lines of the tools named here are an interface: other programs write the same ones. Tools of other agents are in
`foreign_prune_lines`; a tool nobody knows is told by its first arguments (ENGINE 8.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from compaction.foreign_prune_lines import PATH_NAMES, foreign_line
from compaction.tool_results import Arguments, ToolOutcome, ToolResult, clip, json_object, read_outcome

# Longer instructions than these are worth loading again, and the line says so.
SKILL_CHARS: Final = 5_000
ANSWER_LINE_CHARS: Final = 199
UNKNOWN_TOOL: Final = "unknown"
_COMMAND_CHARS: Final = 80
_GOAL_CHARS: Final = 60
_CODE_CHARS: Final = 60
_QUESTION_CHARS: Final = 50
_VALUE_CHARS: Final = 40
_SHOWN_ARGUMENTS: Final = 2
_SHOWN_OPERATIONS: Final = 3
_TOTAL_COUNT: Final = re.compile(r'"total_count"\s*:\s*(\d+)')

_Line = Callable[[ToolResult, ToolOutcome], str]


def prune_line(tool: str, arguments: str, text: str) -> str:
    """The line for the result `text` of a call of `tool` with `arguments` (the provider's string, JSON or not)."""
    result = ToolResult(tool, Arguments.read(arguments), text)
    known = _LINES.get(tool)
    if known is None:
        foreign = foreign_line(result)
        if foreign is not None:
            return foreign
    outcome = read_outcome(result)
    if outcome.is_waiting or outcome.is_blocked:
        return _not_run(result, outcome)
    return (known or _generic)(result, outcome)


def skill_mark(name: str) -> str:
    """What the line of long instructions ends with, so that an agent does not go by what it no longer sees."""
    return f"[skill {name} is not loaded any more: view it again before going by it]"


def elision_mark(omitted_chars: int, total_chars: int) -> str:
    """What stands where the end of a long answer was cut off."""
    return f"[... {omitted_chars} of {total_chars} characters left out ...]"


def _not_run(result: ToolResult, outcome: ToolOutcome) -> str:
    subject = clip(result.arguments.filled("command", "path", "url", "code", "query"), _GOAL_CHARS)
    named = f" `{subject}`" if subject else ""
    what = "awaiting the user's approval" if outcome.is_waiting else "BLOCKED"
    return f"[{result.tool}]{named} {what}, not run"


def _terminal(result: ToolResult, outcome: ToolOutcome) -> str:
    command = clip(result.arguments.filled("command"), _COMMAND_CHARS)
    ran = f"[{result.tool}] ran `{command}` -> exit {result.exit_code}, {result.lines} lines output"
    return ran + outcome.suffix


def _path(result: ToolResult, default: str = "?") -> str:
    """The path a file tool was given; programs that use the same tool names have other names for it."""
    return result.arguments.text("path", result.arguments.filled(*PATH_NAMES, default=default))


def _read_file(result: ToolResult, outcome: ToolOutcome) -> str:
    path, offset = _path(result), result.arguments.filled("offset", "start_line", default="1")
    return f"[{result.tool}] read {path} from line {offset} ({result.chars} chars){outcome.suffix}"


def _write_file(result: ToolResult, outcome: ToolOutcome) -> str:
    path = _path(result)
    if outcome.failure is not None:
        return f"[{result.tool}] {path}{outcome.suffix}"
    content = result.arguments.filled("content")
    lines = str(content.count("\n") + 1) if content else "?"
    return f"[{result.tool}] wrote to {path} ({lines} lines)"


def _search_files(result: ToolResult, outcome: ToolOutcome) -> str:
    given = result.arguments
    target, pattern, path = given.text("target", "content"), given.text("pattern", "?"), _path(result, ".")
    count = result.number(_TOTAL_COUNT)
    return f"[{result.tool}] {target} search for '{pattern}' in {path} -> {count} matches{outcome.suffix}"


def _patch(result: ToolResult, outcome: ToolOutcome) -> str:
    mode, path = result.arguments.text("mode", "replace"), _path(result)
    return f"[{result.tool}] {mode} in {path} ({result.chars} chars result){outcome.suffix}"


def _browser(result: ToolResult, outcome: ToolOutcome) -> str:
    url, ref = result.arguments.filled("url"), result.arguments.filled("ref")
    detail = f" {url}" if url else f" ref={ref}" if ref else ""
    return f"[{result.tool}]{detail} ({result.chars} chars){outcome.suffix}"


def _web_search(result: ToolResult, outcome: ToolOutcome) -> str:
    query = result.arguments.text("query", "?")
    return f"[{result.tool}] query='{query}' ({result.chars} chars result){outcome.suffix}"


def _web_extract(result: ToolResult, outcome: ToolOutcome) -> str:
    urls = result.arguments.items("urls")
    first: Any = urls[0] if urls else result.arguments.filled("urls", "url", default="?")
    if isinstance(first, dict):
        first = first.get("url", "?")
    more = f" (+{len(urls) - 1} more)" if len(urls) > 1 else ""
    return f"[{result.tool}] {first}{more} ({result.chars} chars){outcome.suffix}"


def _delegate_task(result: ToolResult, outcome: ToolOutcome) -> str:
    goals = [task.get("goal") for task in result.arguments.items("tasks") if isinstance(task, dict)]
    goal = result.arguments.filled("goal") or next((str(goal) for goal in goals if goal), "")
    return f"[{result.tool}] '{clip(goal, _GOAL_CHARS)}' ({result.chars} chars result){outcome.suffix}"


def _execute_code(result: ToolResult, outcome: ToolOutcome) -> str:
    code = result.arguments.filled("code")
    preview = code[:_CODE_CHARS].replace("\n", " ") + ("..." if len(code) > _CODE_CHARS else "")
    return f"[{result.tool}] `{preview}` ({result.lines} lines output){outcome.suffix}"


def _skill_view(result: ToolResult, outcome: ToolOutcome) -> str:
    name = result.arguments.text("name", "?")
    mark = f" {skill_mark(name)}" if len(result.text) > SKILL_CHARS else ""
    return f"[{result.tool}] name={name} ({result.chars} chars){outcome.suffix}{mark}"


def _skills_list(result: ToolResult, outcome: ToolOutcome) -> str:
    category = result.arguments.filled("category")
    loaded = json_object(result.text)
    skills = loaded.get("skills")
    count = loaded.get("count", len(skills) if isinstance(skills, list) else "?")
    within = f"category={category} " if category else ""
    return f"[{result.tool}] {within}{count} skills ({result.chars} chars){outcome.suffix}"


def _skill_manage(result: ToolResult, outcome: ToolOutcome) -> str:
    operations = [one for one in result.arguments.items("operations") if isinstance(one, dict)]
    shown = [f"{one.get('action', '?')} {one.get('name', '?')}" for one in operations[:_SHOWN_OPERATIONS]]
    what = "; ".join(shown) or f"{result.arguments.text('action', '?')} {result.arguments.text('name', '?')}"
    more = f" (+{len(operations) - len(shown)} more)" if len(operations) > len(shown) else ""
    return f"[{result.tool}] {what}{more} ({result.chars} chars){outcome.suffix}"


def _vision(result: ToolResult, outcome: ToolOutcome) -> str:
    question = result.arguments.filled("question")[:_QUESTION_CHARS]
    return f"[{result.tool}] '{question}' ({result.chars} chars){outcome.suffix}"


def _memory(result: ToolResult, outcome: ToolOutcome) -> str:
    return (
        f"[{result.tool}] {result.arguments.text('action', '?')} on {result.arguments.text('target', '?')}"
        + outcome.suffix
    )


def _todo(result: ToolResult, outcome: ToolOutcome) -> str:
    return f"[todo] updated task list{outcome.suffix}"


def _clarify(result: ToolResult, outcome: ToolOutcome) -> str:
    """The user's answer is kept, because nothing else in the transcript holds it."""
    responses = json_object(result.text).get("responses")
    answers = [one for one in responses if isinstance(one, dict)] if isinstance(responses, list) else []
    words = [str(one["user_response"]) for one in answers if one.get("user_response")]
    if not words:
        return f"[{result.tool}] asked user a question{outcome.suffix}"
    line = f'[{result.tool}] user responded: "{"; ".join(words)}"'
    if len(line) <= ANSWER_LINE_CHARS:
        return line
    kept_chars = ANSWER_LINE_CHARS - len(elision_mark(len(line), len(line)))
    return line[:kept_chars] + elision_mark(len(line) - kept_chars, len(line))


def _text_to_speech(result: ToolResult, outcome: ToolOutcome) -> str:
    return f"[{result.tool}] generated audio ({result.chars} chars){outcome.suffix}"


def _cronjob(result: ToolResult, outcome: ToolOutcome) -> str:
    return f"[cronjob] {result.arguments.text('action', '?')}{outcome.suffix}"


def _process(result: ToolResult, outcome: ToolOutcome) -> str:
    action, session = result.arguments.text("action", "?"), result.arguments.text("session_id", "?")
    return f"[process] {action} session={session}{outcome.suffix}{_process_failure(result, outcome)}"


def _process_failure(result: ToolResult, outcome: ToolOutcome) -> str:
    """That the process failed by itself. One that was killed on request has done what was asked."""
    loaded = json_object(result.text)
    code = loaded.get("exit_code")
    is_failure = isinstance(code, int) and code != 0 and loaded.get("completion_reason") != "killed"
    return f" FAILED: exit {code}" if is_failure and outcome.failure is None else ""


def _generic(result: ToolResult, outcome: ToolOutcome) -> str:
    """The first arguments of a tool that is not known: what it was about is usually among them."""
    shown = list(result.arguments.named.items())[:_SHOWN_ARGUMENTS]
    words = "".join(f" {clip(name, _VALUE_CHARS)}={str(value)[:_VALUE_CHARS]}" for name, value in shown)
    return f"[{clip(result.tool, _COMMAND_CHARS)}]{words} ({result.chars} chars result){outcome.suffix}"


_LINES: Final[Mapping[str, _Line]] = {
    "terminal": _terminal,
    "read_file": _read_file,
    "write_file": _write_file,
    "search_files": _search_files,
    "patch": _patch,
    **dict.fromkeys(
        ("browser_navigate", "browser_click", "browser_snapshot", "browser_type", "browser_scroll", "browser_vision"),
        _browser,
    ),
    "web_search": _web_search,
    "web_extract": _web_extract,
    "delegate_task": _delegate_task,
    "execute_code": _execute_code,
    "skill_view": _skill_view,
    "skills_list": _skills_list,
    "skill_manage": _skill_manage,
    "vision_analyze": _vision,
    "memory": _memory,
    "todo_list": _todo,
    "clarify": _clarify,
    "text_to_speech": _text_to_speech,
    "cronjob_manage": _cronjob,
    "process_manage": _process,
}
