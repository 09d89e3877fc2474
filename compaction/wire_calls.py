"""Tool calls of a provider message, in both directions.

Three spellings are read: `tool_calls` with a function, `tool_calls` with a custom tool, and the old single
`function_call` without an id. Writing gives each back as it was spelled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from compaction.formats.events import ProblemKind
from compaction.messages import ToolCall
from compaction.storable import json_text
from compaction.wire_content import Note

_LEGACY_TYPE = "function_call"


def read_calls(mapping: Mapping[str, object], note: Note) -> tuple[ToolCall, ...]:
    """All calls of an assistant message in order. Calls that are no objects are noted and left out."""
    listed = mapping.get("tool_calls")
    calls = []
    if isinstance(listed, list):
        calls = [call for item in listed if (call := _read_call(item, note)) is not None]
    elif listed is not None:
        note(ProblemKind.ODD_SHAPE, "tool_calls is not a list")
    legacy = mapping.get("function_call")
    if isinstance(legacy, Mapping):
        calls.append(_read_body(None, legacy, {"type": _LEGACY_TYPE}, "", note))
    return tuple(calls)


def write_calls(calls: tuple[ToolCall, ...]) -> dict[str, object]:
    """The keys of a provider message that hold these calls; empty when there are none."""
    keys: dict[str, object] = {}
    listed = []
    for call in calls:
        extras: dict[str, object] = json.loads(call.extras) if call.extras else {}
        if extras.get("type") == _LEGACY_TYPE:
            keys["function_call"] = {"name": call.name, "arguments": call.arguments}
        else:
            listed.append(_write_call(call, extras))
    if listed:
        keys["tool_calls"] = listed
    return keys


def _read_call(item: object, note: Note) -> ToolCall | None:
    if not isinstance(item, Mapping):
        note(ProblemKind.ODD_SHAPE, "a tool call is not an object")
        return None
    key = "custom" if item.get("type") == "custom" else "function"
    body = item.get(key)
    extras = {name: value for name, value in item.items() if name not in ("id", key, "arguments", "name")}
    if extras.get("type") == "function":
        del extras["type"]
    if not isinstance(body, Mapping):
        note(ProblemKind.ODD_SHAPE, f"a tool call has no {key}")
        body = item if "name" in item else {}
    return _read_body(item.get("id"), body, extras, key, note)


def _read_body(
    call_id: object, body: Mapping[str, object], extras: dict[str, object], key: str, note: Note
) -> ToolCall:
    field = "input" if key == "custom" else "arguments"
    name = body.get("name")
    if not isinstance(name, str):
        note(ProblemKind.MISSING_KEY, "a tool call has no name")
        name = ""
    arguments = _read_arguments(body.get(field), note)
    if key:
        rest = {inner: value for inner, value in body.items() if inner not in ("name", field, "id", "type")}
        if rest and body is not extras:
            extras = {**extras, key: rest}
    own_id = _read_id(call_id, extras, note) if key else None
    return ToolCall(own_id, name, arguments, _aliases(own_id, extras), json_text(extras) if extras else "")


def _read_arguments(value: object, note: Note) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        note(ProblemKind.MISSING_KEY, "a tool call has no arguments")
        return ""
    note(ProblemKind.ODD_SHAPE, "the arguments of a tool call are not text")
    return json_text(value)


def _read_id(value: object, extras: dict[str, object], note: Note) -> str | None:
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        note(ProblemKind.ODD_SHAPE, "the id of a tool call is a number")
        return str(value)
    note(ProblemKind.MISSING_CALL_ID, "a tool call has no id")
    return None


def _aliases(own_id: str | None, extras: Mapping[str, object]) -> tuple[str, ...]:
    """Further ids that results may use: the ids some providers add, and both halves of `a|b`."""
    named = [extras.get("call_id"), extras.get("response_item_id")]
    halves = own_id.split("|") if own_id and "|" in own_id else []
    found = [alias for alias in [*named, *halves] if isinstance(alias, str) and alias.strip() and alias != own_id]
    return tuple(dict.fromkeys(found))


def _write_call(call: ToolCall, extras: dict[str, object]) -> dict[str, object]:
    key = "custom" if extras.get("type") == "custom" else "function"
    field = "input" if key == "custom" else "arguments"
    rest = extras.pop(key, None)
    body = {"name": call.name, field: call.arguments, **(rest if isinstance(rest, dict) else {})}
    identity = {} if call.id is None else {"id": call.id}
    return {**identity, "type": "function", **extras, key: body}
