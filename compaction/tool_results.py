"""A tool result beside the call it answers, read for telling it in one line: arguments, sizes, and how it ended.

Arguments and results are whatever a model and a tool wrote: JSON or not, of any shape. Everything here reads what is
there, says nothing about what is not, and never raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

FAILURE_CHARS: Final = 80
_BLOCKED: Final = "BLOCKED"
_WAITING_STATUSES: Final = ("pending_approval", "approval_required", "awaiting_approval")
_EXIT_CODE: Final = re.compile(r'"exit_code"\s*:\s*(-?\d+)')


def clip(text: str, limit_chars: int) -> str:
    """`text` itself, or its beginning and three dots, `limit_chars` together."""
    return text if len(text) <= limit_chars else text[: limit_chars - 3] + "..."


def on_one_line(text: str) -> str:
    """`text` with every run of blanks and line breaks as one blank."""
    return " ".join(text.split())


def json_object(text: str) -> Mapping[str, Any]:
    """The JSON object that `text` is; an empty one for anything else."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


@dataclass(frozen=True, slots=True)
class Arguments:
    """The named arguments of a call, and the string they came as (`raw`), which need not be JSON."""

    raw: str
    named: Mapping[str, Any] = field(hash=False, compare=False, repr=False)

    @classmethod
    def read(cls, raw: str) -> Arguments:
        """The arguments in `raw`; none of them has a name when it is no JSON object."""
        return cls(raw, json_object(raw))

    def text(self, name: str, default: str = "") -> str:
        """The argument as a word, whatever its type; `default` when it was not given."""
        return str(self.named.get(name, default))

    def filled(self, *names: str, default: str = "") -> str:
        """The first of the arguments that was given and is not empty, as text."""
        return next((str(self.named[name]) for name in names if self.named.get(name)), default)

    def items(self, name: str) -> list[Any]:
        """The argument if it is a list; an empty list otherwise."""
        value = self.named.get(name)
        return value if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool was asked and what it said."""

    tool: str
    arguments: Arguments
    text: str

    @property
    def chars(self) -> str:
        """Length of the result for people."""
        return f"{len(self.text):,}"

    @property
    def lines(self) -> int:
        """Lines of the result; a blank one has none."""
        return self.text.count("\n") + 1 if self.text.strip() else 0

    @property
    def exit_code(self) -> str:
        """The exit code that the result names, or a question mark."""
        return self.number(_EXIT_CODE)

    def number(self, pattern: re.Pattern[str]) -> str:
        """What the first group of `pattern` finds in the result, or a question mark."""
        found = pattern.search(self.text)
        return "?" if found is None else found[1]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """How a call ended. failure: why it failed, empty when that is not said, None when it did not fail.

    is_blocked: it was refused and not run. is_waiting: it was not run yet, because a person has to allow it.
    """

    failure: str | None = None
    is_blocked: bool = False
    is_waiting: bool = False

    @property
    def suffix(self) -> str:
        """The end of a line that tells of a failure; empty when there was none."""
        if self.failure is None:
            return ""
        return f" FAILED: {self.failure}" if self.failure else " FAILED"


def read_outcome(result: ToolResult) -> ToolOutcome:
    """How the call ended, by what its result says at top level. A result that says nothing of it has not failed."""
    loaded = json_object(result.text)
    error = _words(loaded.get("error"))
    if result.text.lstrip().startswith(_BLOCKED) or error.startswith(_BLOCKED):
        return ToolOutcome(is_blocked=True)
    if loaded.get("status") in _WAITING_STATUSES:
        return ToolOutcome(is_waiting=True)
    if error or loaded.get("success") is False:
        return ToolOutcome(failure=clip(error, FAILURE_CHARS))
    return ToolOutcome(failure=_failure_inside(loaded))


def _failure_inside(loaded: Mapping[str, Any]) -> str | None:
    """Why a job that was started well has failed itself; a process that was killed on request has not."""
    job = loaded.get("job")
    if isinstance(job, dict) and job.get("execution_success") is False:
        return clip(_words(job.get("execution_error")), FAILURE_CHARS)
    return None


def _words(value: Any) -> str:
    """An error as one line of words; of an error that is an object its message."""
    if isinstance(value, dict):
        value = value.get("message") or value.get("detail") or value.get("type")
    if not value or value is True:
        return ""
    return on_one_line(str(value))
