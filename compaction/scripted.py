"""A summarizer that says what it was told to say: for tests, demonstrations and fault drills.

The script is a list of replies used in turn, the last one repeated for ever. Each is `{"text": ...}` or
`{"error": REASON}`; `finish_reason`, `refusal`, `reasoning`, `tool_calls` and `duration_ms` may be given as well. The
errors `refusal`, `length`, `empty` and `thinking_only` are shaped as the replies that models really give.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from compaction.errors import InvalidInput
from compaction.summarizer import Reply, SummaryRequest

_KNOWN_KEYS: Final = frozenset({"text", "error", "finish_reason", "refusal", "reasoning", "tool_calls", "duration_ms"})


class ScriptedSummarizer:
    """Answers with `replies` in turn. Counts the questions it was asked."""

    def __init__(self, replies: Sequence[Reply], model: str = "scripted") -> None:
        if not replies:
            raise InvalidInput("the script holds no reply", "scripted summarizer")
        self._replies = tuple(replies)
        self._model = model
        self.asked = 0

    @property
    def model(self) -> str:
        """The name shown for this summarizer."""
        return self._model

    @property
    def window_tokens(self) -> int | None:
        """A script has no window."""
        return None

    def ask(self, request: SummaryRequest) -> Reply:
        """The next reply of the script, whatever is asked."""
        reply = self._replies[min(self.asked, len(self._replies) - 1)]
        self.asked += 1
        return reply


def read_script(path: Path) -> ScriptedSummarizer:
    """The summarizer of a script file. Raises InvalidInput naming the file and the entry that is wrong."""
    try:
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"can't be read: {error.strerror}", str(path)) from error
    except ValueError as error:
        raise InvalidInput(f"is not valid JSON: {error}", str(path)) from error
    if not isinstance(loaded, list):
        raise InvalidInput("must be a JSON list of replies", str(path))
    return ScriptedSummarizer([reply_from_script(entry, f"{path}, reply {n}") for n, entry in enumerate(loaded, 1)])


def reply_from_script(entry: Any, where: str) -> Reply:
    """One scripted reply. Raises InvalidInput naming `where` for anything that is not of the form."""
    if not isinstance(entry, Mapping):
        raise InvalidInput("must be an object with text or error", where)
    unknown = sorted(set(entry) - _KNOWN_KEYS)
    if unknown or not ("text" in entry or "error" in entry or "refusal" in entry or "reasoning" in entry):
        raise InvalidInput(f"needs text or error; unknown keys: {', '.join(unknown) or 'none'}", where)
    text = entry.get("text")
    if text is not None and not isinstance(text, str):
        raise InvalidInput("text must be a string or null", where)
    duration_ms = entry.get("duration_ms", 0)
    if not isinstance(duration_ms, int) or isinstance(duration_ms, bool) or duration_ms < 0:
        raise InvalidInput("duration_ms must be a whole number of at least 0", where)
    return _shaped(entry, str(entry.get("error", "")), text, duration_ms)


def _shaped(entry: Mapping[str, Any], error: str, text: str | None, duration_ms: int) -> Reply:
    match error:
        case "refusal":
            return Reply(text=text, refusal="I can't help with that.", finish_reason="stop", duration_ms=duration_ms)
        case "length":
            return Reply(text=text or "## Key Decisions\n- cut", finish_reason="length", duration_ms=duration_ms)
        case "empty":
            return Reply(text="", finish_reason="stop", duration_ms=duration_ms)
        case "thinking_only":
            return Reply(text="", reasoning="Let me think.", finish_reason="stop", duration_ms=duration_ms)
    return Reply(
        text=None if error else text,
        finish_reason=entry.get("finish_reason", None if error else "stop"),
        refusal=entry.get("refusal"),
        reasoning=entry.get("reasoning"),
        has_tool_calls=bool(entry.get("tool_calls")),
        error=error,
        error_detail=f"scripted failure: {error}" if error else "",
        duration_ms=duration_ms,
    )
