"""Lines for the tools of other agents: shells, editors, searches, pages, sub-agents and to-do lists.

Agents name the same few tools differently and spell their arguments differently, so tools are grouped by what they do
and arguments are looked for under all the names that are in use. Results are plain text here: a failure is told by how
the text begins, an exit code by the words in which shells report one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from compaction.tool_results import FAILURE_CHARS, ToolResult, clip, json_object, on_one_line, read_outcome

PATH_NAMES: Final = (
    "path", "file_path", "filePath", "absolute_path", "notebook_path", "target_file", "filename", "file", "directory",
)  # fmt: skip
_COMMAND_NAMES: Final = ("command", "cmd", "script", "code")
_PATTERN_NAMES: Final = ("pattern", "regex", "query", "glob", "include", "search_term")
_GOAL_NAMES: Final = ("description", "goal", "task", "prompt", "message")
_COMMAND_CHARS: Final = 80
_GOAL_CHARS: Final = 60
_SHOWN_FILES: Final = 3
_EXIT_CODE: Final = re.compile(r"\bexit(?:ed with)?[ _]code\"?\s*[:=]?\s*(-?\d{1,3})\b", re.IGNORECASE)
_FAILURE: Final = re.compile(
    r"\A\s*(?:<tool_use_error>\s*|\[?(?:error|failed|failure)\b[\]:]*\s*)([^\n<]*)|"
    r"\A\s*(Traceback \(most recent call last\))",
    re.IGNORECASE,
)
_PATCHED_FILE: Final = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b/)?)(\S+)", re.MULTILINE)


def foreign_line(result: ToolResult) -> str | None:
    """The line for a tool of another agent; None when its name is not known."""
    tell = _TELLERS.get(result.tool.rsplit(".", 1)[-1].lower())
    return None if tell is None else f"[{result.tool}] {tell(result)}{_failure(result)}"


def _failure(result: ToolResult) -> str:
    outcome = read_outcome(result)
    if outcome.failure is not None:
        return outcome.suffix
    found = _FAILURE.match(result.text[:2_000])
    if found is None:
        return ""
    words = clip(on_one_line(found[1] or found[2] or ""), FAILURE_CHARS)
    return f" FAILED: {words}" if words else " FAILED"


def _command(result: ToolResult) -> str:
    ran = clip(on_one_line(_command_text(result)), _COMMAND_CHARS)
    code = _EXIT_CODE.findall(result.text[-2_000:]) or _EXIT_CODE.findall(result.text[:2_000])
    return f"ran `{ran}` -> exit {code[-1] if code else '?'}, {result.lines} lines output"


def _command_text(result: ToolResult) -> str:
    """The command as a person would type it: a list of words without the shell that runs the last of them."""
    words = result.arguments.items("command") or result.arguments.items("cmd")
    if len(words) == 3 and str(words[1]) in ("-c", "-lc"):
        return str(words[2])
    return " ".join(map(str, words)) or result.arguments.filled(*_COMMAND_NAMES) or _unnamed(result)


def _unnamed(result: ToolResult) -> str:
    """Arguments that came as plain text."""
    return "" if result.arguments.named else result.arguments.raw


def _path(result: ToolResult, default: str = "?") -> str:
    return clip(on_one_line(result.arguments.filled(*PATH_NAMES, default=default)), 200)


def _read(result: ToolResult) -> str:
    lines = result.arguments.items("view_range")
    start = str(lines[0]) if lines else result.arguments.filled("offset", "start_line", "line_start", default="1")
    return f"read {_path(result)} from line {start} ({result.chars} chars)"


def _write(result: ToolResult) -> str:
    content = result.arguments.filled("content", "file_text", "contents", "text")
    return f"wrote to {_path(result)} ({content.count(chr(10)) + 1 if content else '?'} lines)"


def _edit(result: ToolResult) -> str:
    edits = len(result.arguments.items("edits"))
    count = f"{edits} edits" if edits > 1 else "edit"
    return f"{count} in {_path(result)} ({result.chars} chars result)"


def _editor(result: ToolResult) -> str:
    """An editor with commands of its own: viewing and creating are what other agents have tools for."""
    command = result.arguments.filled("command", default="?")
    if command == "view":
        return _read(result)
    return _write(result) if command == "create" else f"{command} in {_path(result)} ({result.chars} chars result)"


def _patch(result: ToolResult) -> str:
    files = tuple(dict.fromkeys(_patched_files(result)))
    shown = ", ".join(files[:_SHOWN_FILES]) or _path(result)
    more = f" (+{len(files) - _SHOWN_FILES} more)" if len(files) > _SHOWN_FILES else ""
    return f"patched {shown}{more} ({result.chars} chars result)"


def _patched_files(result: ToolResult) -> Iterator[str]:
    given = result.arguments
    text = given.filled("input", "patch", "diff", "patch_text") or "\n".join(map(str, given.items("command")))
    yield from _PATCHED_FILE.findall(text or _unnamed(result))


def _search(result: ToolResult) -> str:
    pattern = clip(on_one_line(result.arguments.filled(*_PATTERN_NAMES, default="?")), _COMMAND_CHARS)
    return f"search for '{pattern}' in {_path(result, '.')} -> {result.lines} lines output"


def _list(result: ToolResult) -> str:
    return f"listed {_path(result, '.')} ({result.lines} lines output)"


def _page(result: ToolResult) -> str:
    return f"{clip(result.arguments.filled('url', 'uri', default='?'), 200)} ({result.chars} chars)"


def _web_search(result: ToolResult) -> str:
    query = clip(on_one_line(result.arguments.filled("query", "search_term", "q", default="?")), _COMMAND_CHARS)
    return f"query='{query}' ({result.chars} chars result)"


def _agent(result: ToolResult) -> str:
    goal = clip(on_one_line(result.arguments.filled(*_GOAL_NAMES)), _GOAL_CHARS)
    return f"'{goal}' ({result.chars} chars result)"


def _todo(result: ToolResult) -> str:
    items: list[Any] = result.arguments.items("todos") or result.arguments.items("plan")
    count = f" ({len(items)} items)" if items else ""
    return f"updated task list{count}"


def _question(result: ToolResult) -> str:
    """What a person answered is in no other row, so as much of it as fits is kept."""
    answer = json_object(result.text).get("answer", result.text)
    return f'user responded: "{clip(on_one_line(str(answer)), 120)}"'


def _skill(result: ToolResult) -> str:
    name = result.arguments.filled("skill", "command", "name", default="?")
    return f"name={clip(name, _GOAL_CHARS)} ({result.chars} chars), not loaded any more: view it again"


_FAMILIES: Final[tuple[tuple[Callable[[ToolResult], str], str], ...]] = (
    (
        _command,
        "bash shell sh execute_bash exec_command exec run_shell_command run_command run_terminal_cmd local_shell "
        "execute_command run_in_terminal powershell python ipython execute_ipython_cell cmd",
    ),
    (_read, "read view cat open_file view_file read_text_file notebookread read_many_files"),
    (_write, "write create_file write_to_file create write_text_file save_file"),
    (_edit, "edit multiedit notebookedit replace edit_file replace_in_file search_replace str_replace insert_edit"),
    (_editor, "str_replace_editor str_replace_based_edit_tool text_editor file_editor"),
    (_patch, "apply_patch apply_diff applypatch"),
    (_search, "grep glob grep_search search_file_content file_search codebase_search find_files ripgrep rg search"),
    (_list, "ls list_dir list_directory list_files"),
    (_page, "webfetch web_fetch fetch fetch_url read_url http_get browse"),
    (_web_search, "websearch google_web_search search_web"),
    (_agent, "task agent spawn_agent new_task subagent dispatch_agent"),
    (_todo, "todowrite todo_write update_plan write_todos"),
    (_question, "askuserquestion ask_followup_question ask_user"),
    (_skill, "skill"),
)
_TELLERS: Final[Mapping[str, Callable[[ToolResult], str]]] = {
    name: tell for tell, names in _FAMILIES for name in names.split()
}
