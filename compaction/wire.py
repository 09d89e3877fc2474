"""Provider messages (the OpenAI chat shape) <-> `Message`.

Reading never fails on an odd shape: it is noted and becomes a message all the same. A valid provider message comes
back unchanged in meaning. The rule that makes this work: a key stands in `extras` when the fields can't tell it, and on
the way back `extras` only fills keys that the fields left open. So null, "", [] and an absent key stay four things, and
a message whose content was rewritten is written with the new content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from compaction.formats.events import Problem, ProblemKind
from compaction.messages import Message, Role, ToolCall
from compaction.storable import json_text, storable_value
from compaction.wire_calls import read_calls, write_calls
from compaction.wire_content import Note, read_content, write_content

_REASONING_KEYS = ("reasoning_content", "reasoning")
# Sent along with the reasoning or not at all: the provider's own record of the same thoughts.
_REASONING_COMPANIONS = ("reasoning_details", "thinking_blocks")
_ROLES = {role.value: role for role in Role}
_SPELLINGS = {**_ROLES, "function": Role.TOOL, "human": Role.USER, "ai": Role.ASSISTANT, "model": Role.ASSISTANT}
# Keys that make an assistant message without content a complete one.
_STAND_INS = ("tool_calls", "function_call", "refusal", "audio", *_REASONING_KEYS)


def message_from_openai(mapping: Mapping[str, object], on_problem: Callable[[Problem], None]) -> Message:
    """Read one provider message. Every oddity is told to `on_problem` (no line number); nothing is raised for shape."""

    def note(kind: ProblemKind, detail: str) -> None:
        on_problem(Problem(kind, detail, skipped=False))

    try:
        return _read(_storable(mapping, note), note)
    except RecursionError:
        note(ProblemKind.ODD_SHAPE, "the message is nested too deeply to be read")
        return Message(_role(mapping, lambda kind, detail: None), "")


def message_to_openai(message: Message) -> dict[str, object]:
    """Write one provider message, with the keys kept in `extras`."""
    extras: dict[str, object] = json.loads(message.extras) if message.extras else {}
    is_legacy_result = message.role is Role.TOOL and extras.pop("role", None) == "function"
    written: dict[str, object] = {"role": "function" if is_legacy_result else message.role.value}
    leftover = extras.pop("content", None) if message.content is not None else None
    if message.content is not None:
        written["content"] = write_content(message.content, leftover)
    written |= write_calls(message.tool_calls)
    if message.tool_call_id is not None and not is_legacy_result:
        written["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        written["name"] = message.name
    _write_reasoning(message, extras, written)
    return {**extras, **written}


def _storable(mapping: Mapping[str, object], note: Note) -> Mapping[str, object]:
    clean = storable_value(mapping)
    if clean is not mapping:
        note(ProblemKind.REPLACED_CHARACTER, "a NUL or half a surrogate pair was replaced")
    return clean if isinstance(clean, Mapping) else {}


def _read(mapping: Mapping[str, object], note: Note) -> Message:
    role = _role(mapping, note)
    content, leftover = read_content(mapping.get("content"), note)
    if content is None:
        _note_missing_content(role, mapping, note)
    calls = read_calls(mapping, note)
    call_id = _call_id(role, mapping, note)
    name = mapping.get("name")
    reasoning, reasoning_keys = _read_reasoning(mapping)
    extras = _extras(mapping, role, calls, call_id, reasoning_keys)
    if leftover is not None or ("content" in mapping and content is None):
        extras["content"] = leftover
    return Message(
        role,
        content,
        calls,
        call_id,
        name if isinstance(name, str) else None,
        reasoning,
        json_text(extras) if extras else "",
    )


def _role(mapping: Mapping[str, object], note: Note) -> Role:
    value = mapping.get("role")
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _SPELLINGS:
        if value not in _ROLES and value != "function":
            note(ProblemKind.ODD_SHAPE, f"the role is spelled {value!r}")
        return _SPELLINGS[word]
    kind = ProblemKind.MISSING_KEY if value is None else ProblemKind.ODD_SHAPE
    note(kind, "no role" if value is None else f"unknown role {str(value)[:40]!r}")
    if mapping.get("tool_call_id"):
        return Role.TOOL
    return Role.ASSISTANT if mapping.get("tool_calls") else Role.USER


def _note_missing_content(role: Role, mapping: Mapping[str, object], note: Note) -> None:
    if role is Role.ASSISTANT and any(mapping.get(key) for key in _STAND_INS):
        return
    if "content" in mapping:
        note(ProblemKind.ODD_SHAPE, "the content is null")
    else:
        note(ProblemKind.MISSING_KEY, "no content")


def _call_id(role: Role, mapping: Mapping[str, object], note: Note) -> str | None:
    value = mapping.get("tool_call_id")
    if isinstance(value, str) and value.strip():
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        note(ProblemKind.ODD_SHAPE, "tool_call_id is a number")
        return str(value)
    if role is Role.TOOL and mapping.get("role") != "function":
        note(ProblemKind.MISSING_CALL_ID, "a tool result names no call")
    return None


def _read_reasoning(mapping: Mapping[str, object]) -> tuple[str | None, list[str]]:
    """The reasoning text and the keys that hold just this text."""
    texts = {key: value for key in _REASONING_KEYS if isinstance(value := mapping.get(key), str)}
    if not texts:
        return None, []
    chosen = next((text for text in texts.values() if text), "")
    return chosen, [key for key, text in texts.items() if text == chosen]


def _extras(
    mapping: Mapping[str, object], role: Role, calls: tuple[ToolCall, ...], call_id: str | None, reasoning: list[str]
) -> dict[str, object]:
    told = {"role", "content", *reasoning}
    if calls and mapping.get("tool_calls"):
        told.add("tool_calls")
    if call_id is not None:
        told.add("tool_call_id")
    if isinstance(mapping.get("name"), str):
        told.add("name")
    if isinstance(mapping.get("function_call"), Mapping):
        told.add("function_call")
    extras = {str(key): value for key, value in mapping.items() if key not in told}
    if mapping.get("role") == "function":
        extras["role"] = "function"
    if reasoning and (reasoning != ["reasoning_content"] or any(key in mapping for key in _REASONING_COMPANIONS)):
        extras["reasoning_keys"] = reasoning
    return extras


def _write_reasoning(message: Message, extras: dict[str, object], written: dict[str, object]) -> None:
    """Write the reasoning under the keys it came with; when it was taken out, its companions go too."""
    keys = extras.pop("reasoning_keys", None)
    if message.reasoning is not None:
        names = keys if isinstance(keys, list) else ["reasoning_content"]
        written.update((str(name), message.reasoning) for name in names)
    elif keys is not None:
        for name in (*_REASONING_KEYS, *_REASONING_COMPANIONS):
            extras.pop(name, None)
