"""Telling transcript formats apart by what is in the file, never by its name.

The order matters: the database header first, then one JSON value that is the whole file, then lines. A file whose
first line is a whole JSON object and that has more lines is line-delimited; anything else is tried as one value first,
because a pretty-printed object also has lines. Formats that are known but can't be read yet are still named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from itertools import islice
from typing import BinaryIO

from compaction.errors import InvalidSource
from compaction.formats.json_lines import parse_json, read_document, read_lines, refuse_wide_text
from compaction.formats.source_file import SourceFile
from compaction.wording import worded


class Format(StrEnum):
    """A transcript format, by the name it goes by in reports and in `open_source(format=...)`."""

    OWN_EXPORT = "sessions-export"
    HERMES_STATE = "hermes-state"
    HERMES_EXPORT = "hermes-export"
    HERMES_TRANSCRIPT = "hermes-transcript"
    HERMES_SNAPSHOT = "hermes-snapshot"
    HERMES_PROMPTS = "hermes-prompts"
    OPENAI_CHAT = "openai-chat"
    CLAUDE_CODE = "claude-code"
    CLAUDE_WEB = "claude-web"
    CODEX = "codex"
    CODEX_LEGACY = "codex-legacy"
    SHAREGPT = "sharegpt"
    OPENHANDS = "openhands"
    OPENHANDS_EVAL = "openhands-eval"
    OPENHANDS_SDK = "openhands-sdk"
    SWE_AGENT = "swe-agent"
    PI = "pi"
    GEMINI = "gemini-cli"
    ATIF = "atif"


LABELS = {
    Format.OWN_EXPORT: "an export of this program",
    Format.HERMES_STATE: "a Hermes state.db",
    Format.HERMES_EXPORT: "a Hermes sessions export",
    Format.HERMES_TRANSCRIPT: "a Hermes transcript of one message per line",
    Format.HERMES_SNAPSHOT: "a Hermes session snapshot",
    Format.HERMES_PROMPTS: "a Hermes export of user prompts only",
    Format.OPENAI_CHAT: "OpenAI chat messages",
    Format.CLAUDE_CODE: "a Claude Code session",
    Format.CLAUDE_WEB: "a Claude web export",
    Format.CODEX: "a Codex rollout",
    Format.CODEX_LEGACY: "a Codex rollout of the old form",
    Format.SHAREGPT: "ShareGPT conversations",
    Format.OPENHANDS: "OpenHands events",
    Format.OPENHANDS_EVAL: "an OpenHands evaluation output",
    Format.OPENHANDS_SDK: "OpenHands SDK events",
    Format.SWE_AGENT: "a SWE-agent trajectory",
    Format.PI: "a pi session",
    Format.GEMINI: "a Gemini CLI chat",
    Format.ATIF: "an ATIF trajectory",
}

_SQLITE_MAGIC = b"SQLite format 3\x00"
_VOTERS = 20
_SEARCHED_LINES = 400
_CLAUDE_TYPES = frozenset(
    {"user", "assistant", "system", "summary", "progress", "attachment", "file-history-snapshot", "queue-operation"}
)
_OWN_RECORDS = frozenset({"session", "row", "pass", "summary"})
_CODEX_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CODEX_LEGACY_TYPES = frozenset({"message", "reasoning", "function_call", "function_call_output"})

Json = Mapping[str, object]


def detect(file: SourceFile) -> Format:
    """The format of `file`. Raises InvalidSource when it is none of the known ones."""
    with file.open() as stream:
        start = stream.read(16)
        if not start:
            raise InvalidSource(worded("the file is empty"), file.label)
        if start == _SQLITE_MAGIC:
            return Format.HERMES_STATE
        if start.startswith(b"PK\x03\x04"):
            raise InvalidSource(worded("it is a ZIP archive; its files are read one by one"), file.label)
        refuse_wide_text(start, file.label)
        found = _detect_text(stream, file.label)
    if found is None:
        raise InvalidSource(worded("the file is in no transcript format that is known here"), file.label)
    return found


def _detect_text(stream: BinaryIO, label: str) -> Format | None:
    objects = list(islice(_objects(stream), _VOTERS))
    if len(objects) < 2 or not _first_line_is_object(stream):
        try:
            whole = read_document(stream, label).value
        except InvalidSource:
            if not objects and _begins_like_json(stream):
                raise
        else:
            return _of_document(whole) or (_of_lines(objects) if isinstance(whole, dict) else None)
    return _of_lines(objects)


def _begins_like_json(stream: BinaryIO) -> bool:
    stream.seek(0)
    return stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"["))


def _objects(stream: BinaryIO) -> Iterator[dict[str, object]]:
    """Objects that stand alone on one of the first lines."""
    for line in islice(read_lines(stream), _SEARCHED_LINES):
        if line.data.lstrip().startswith(b"{"):
            try:
                value = parse_json(line.data).value
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value


def _first_line_is_object(stream: BinaryIO) -> bool:
    """Whether the first line that is neither blank nor a comment is a whole JSON object."""
    for line in islice(read_lines(stream), _SEARCHED_LINES):
        stripped = line.data.strip()
        if stripped and not stripped.startswith((b"//", b"#")):
            try:
                return isinstance(parse_json(stripped).value, dict)
            except ValueError:
                return False
    return False


def _of_document(value: object) -> Format | None:
    if isinstance(value, dict):
        return _first_that_holds(_DOCUMENTS, value)
    if isinstance(value, list):
        items = [item for item in value[:_VOTERS] if isinstance(item, dict)]
        return next((found for item in items if (found := _first_that_holds(_ITEMS, item))), None)
    return None


def _of_lines(objects: list[dict[str, object]]) -> Format | None:
    votes = [found for item in objects if (found := _first_that_holds(_LINES, item))]
    if Format.CODEX_LEGACY in votes and not {"payload", "role"} & set(objects[0]):
        return Format.CODEX_LEGACY
    votes = [vote for vote in votes if vote is not Format.CODEX_LEGACY]
    return max(votes, key=votes.count) if votes else None


Rule = Callable[[Json], bool]
Rules = tuple[tuple[Format, Rule], ...]


def _first_that_holds(rules: Rules, value: Json) -> Format | None:
    return next((found for found, rule in rules if rule(value)), None)


def _has_items_with(value: Json, key: str, *wanted: str) -> bool:
    """Whether `value[key]` is a list in which some object has one of the wanted keys."""
    items = value.get(key)
    objects = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return any(not item.keys().isdisjoint(wanted) for item in objects)


def _is_gemini(value: Json) -> bool:
    has_parts = _has_items_with(value, "messages", "toolCalls", "thoughts")
    return "sessionId" in value and ("projectHash" in value or has_parts)


def _is_snapshot(value: Json) -> bool:
    return "session_id" in value and ("session_start" in value or "platform" in value) and "messages" in value


def _is_export(value: Json) -> bool:
    return isinstance(value.get("messages"), list) and "source" in value and "started_at" in value


def _is_claude(value: Json) -> bool:
    has_identity = any(key in value for key in ("uuid", "sessionId", "parentUuid", "leafUuid"))
    return has_identity and (value.get("type") in _CLAUDE_TYPES or isinstance(value.get("message"), dict))


def _is_openhands(value: Json) -> bool:
    return "action" in value or "observation" in value


def _is_own(value: Json) -> bool:
    return value.get("format") == "hermes-sessions-export"


def _is_own_record(value: Json) -> bool:
    return value.get("record") in _OWN_RECORDS and (_is_own(value) or "number" in value or "born_seq" in value)


_DOCUMENTS: Rules = (
    (Format.OWN_EXPORT, _is_own),
    (Format.SWE_AGENT, lambda value: isinstance(value.get("history"), list) and "instance_id" not in value),
    (Format.ATIF, lambda value: str(value.get("schema_version", "")).startswith("ATIF")),
    (Format.GEMINI, _is_gemini),
    (Format.CLAUDE_WEB, lambda value: "loglines" in value),
    (Format.HERMES_SNAPSHOT, _is_snapshot),
    (Format.HERMES_EXPORT, _is_export),
    (Format.SHAREGPT, lambda value: _has_items_with(value, "conversations", "from", "value", "role")),
    (Format.OPENAI_CHAT, lambda value: _has_items_with(value, "messages", "role")),
    (Format.OPENHANDS, lambda value: _is_openhands(value) and "source" in value and "timestamp" in value),
)
_ITEMS: Rules = (
    (Format.OPENAI_CHAT, lambda item: isinstance(item.get("traj"), list)),
    (Format.SHAREGPT, lambda item: "conversations" in item or ("from" in item and "value" in item)),
    (Format.OPENHANDS_SDK, lambda item: "kind" in item and "source" in item),
    (Format.OPENHANDS, lambda item: _is_openhands(item) and "role" not in item),
    (Format.OPENAI_CHAT, lambda item: "role" in item or _has_items_with(item, "messages", "role")),
)
_LINES: Rules = (
    (Format.OWN_EXPORT, _is_own_record),
    (Format.OWN_EXPORT, _is_own),
    (Format.CODEX, lambda item: "payload" in item and item.get("type") in _CODEX_TYPES),
    (Format.CLAUDE_CODE, _is_claude),
    (Format.PI, lambda item: item.get("type") == "session" and ("cwd" in item or "provider" in item)),
    (Format.PI, lambda item: item.get("type") == "message" and isinstance(item.get("message"), dict)),
    (Format.SHAREGPT, lambda item: "conversations" in item),
    (Format.HERMES_EXPORT, _is_export),
    (Format.HERMES_PROMPTS, lambda item: {"session_id", "index", "text"} <= item.keys() and "role" not in item),
    (Format.OPENAI_CHAT, lambda item: _has_items_with(item, "messages", "role")),
    (Format.OPENHANDS_EVAL, lambda item: "history" in item and ("instance_id" in item or "issue" in item)),
    (Format.OPENHANDS_SDK, lambda item: "kind" in item and "source" in item),
    (Format.CODEX_LEGACY, lambda item: item.get("type") in _CODEX_LEGACY_TYPES or "record_type" in item),
    (Format.HERMES_TRANSCRIPT, lambda item: "role" in item),
    (Format.OPENHANDS, lambda item: _is_openhands(item) and "source" in item),
)
