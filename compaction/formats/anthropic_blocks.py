"""Messages in Anthropic's block form: one message may hold text, thoughts, calls and results side by side.

A message is taken apart: what the speaker says becomes one message with its calls, each tool result becomes a message
of its own. Pictures are put into the form providers of the chat API take. Blocks of unknown types are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compaction.formats.events import ProblemKind
from compaction.messages import Content, ImagePart, Message, OtherPart, Part, Role, TextPart, ToolCall
from compaction.storable import json_text
from compaction.wire_content import Note

BLOCK_TYPES = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
# Kept as they are, and nothing to wonder about.
_KNOWN_OTHERS = frozenset(
    {"document", "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result",
     "mcp_tool_use", "mcp_tool_result", "container_upload", "search_result", "tool_reference", "input_audio", "file"}
)  # fmt: skip


@dataclass(slots=True)
class Blocks:
    """A message taken apart. `parts` is what was said, in order; `results` are whole messages of role tool."""

    parts: list[Part] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: list[Message] = field(default_factory=list)

    @property
    def content(self) -> Content:
        """What was said: plain text when it is only text in one piece, None when nothing was."""
        return plain(self.parts)

    @property
    def reasoning(self) -> str | None:
        """The thoughts, None when there are none."""
        return "\n\n".join(self.thoughts) if self.thoughts else None

    @property
    def says_something(self) -> bool:
        """Whether there is anything besides tool results."""
        return bool(self.parts or self.thoughts or self.calls)


def plain(parts: list[Part]) -> Content:
    """Parts as content: None for none, text for a single text part, else the parts."""
    if not parts:
        return None
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    return tuple(parts)


def is_block_content(content: object) -> bool:
    """Whether list content has a block that only Anthropic's form has."""
    items = content if isinstance(content, list) else []
    return any(isinstance(item, dict) and item.get("type") in BLOCK_TYPES for item in items)


def take_apart(content: object, note: Note) -> Blocks:
    """The blocks of a message's content, which may be text, a list of blocks, or something odd."""
    blocks = Blocks()
    if isinstance(content, str):
        blocks.parts.append(TextPart(content))
    elif isinstance(content, list):
        if not content:
            note(ProblemKind.ODD_SHAPE, "the content is an empty list")
        for item in content:
            _take_block(item, blocks, note)
    elif isinstance(content, dict):
        note(ProblemKind.ODD_SHAPE, "the content is a single block")
        _take_block(content, blocks, note)
    else:
        note(ProblemKind.ODD_SHAPE, "there is no content" if content is None else "the content is no text and no list")
        if content is not None:
            blocks.parts.append(TextPart(json_text(content)))
    return blocks


def _take_block(item: object, blocks: Blocks, note: Note) -> None:
    if isinstance(item, str):
        note(ProblemKind.ODD_SHAPE, "a block is bare text")
        blocks.parts.append(TextPart(item))
        return
    if not isinstance(item, dict):
        note(ProblemKind.ODD_SHAPE, "a block is not an object")
        blocks.parts.append(OtherPart("", json_text(item)))
        return
    kind = item.get("type")
    if kind == "thinking":
        blocks.thoughts.append(_text(item.get("thinking"), note))
    elif kind == "tool_use":
        blocks.calls.append(_call(item, note))
    elif kind == "tool_result":
        blocks.results.append(_result(item, note))
    elif kind != "redacted_thinking":
        blocks.parts.append(_part(item, note))


def _part(item: Mapping[str, object], note: Note) -> Part:
    kind = item.get("type")
    if kind == "text":
        return TextPart(_text(item.get("text"), note))
    if kind == "image":
        return ImagePart(json_text(_image(item)))
    if kind == "image_url":
        return ImagePart(json_text(item))
    if kind not in _KNOWN_OTHERS:
        note(ProblemKind.UNKNOWN_TYPE, f"block of type {str(kind)[:40]!r}")
    return OtherPart(kind if isinstance(kind, str) else "", json_text(item))


def _text(value: object, note: Note) -> str:
    if isinstance(value, str):
        return value
    note(ProblemKind.ODD_SHAPE, "the text of a block is not text")
    return "" if value is None else json_text(value)


def _image(item: Mapping[str, object]) -> Mapping[str, object]:
    source = item.get("source")
    if not isinstance(source, dict):
        return item
    url = source.get("url")
    if source.get("type") == "base64" and isinstance(source.get("data"), str):
        url = f"data:{source.get('media_type', 'image/png')};base64,{source['data']}"
    return {"type": "image_url", "image_url": {"url": url}} if isinstance(url, str) else item


def _call(item: Mapping[str, object], note: Note) -> ToolCall:
    name, call_id, given = item.get("name"), item.get("id"), item.get("input")
    if not isinstance(name, str):
        note(ProblemKind.MISSING_KEY, "a tool call has no name")
    if not isinstance(call_id, str) or not call_id.strip():
        note(ProblemKind.MISSING_CALL_ID, "a tool call has no id")
        call_id = None
    if given is None:
        note(ProblemKind.MISSING_KEY, "a tool call has no input")
    arguments = given if isinstance(given, str) else json_text({} if given is None else given)
    return ToolCall(call_id, name if isinstance(name, str) else "", arguments)


def _result(item: Mapping[str, object], note: Note) -> Message:
    call_id = item.get("tool_use_id")
    if not isinstance(call_id, str) or not call_id.strip():
        note(ProblemKind.MISSING_CALL_ID, "a tool result names no call")
        call_id = None
    content = item.get("content")
    if content is None:
        note(ProblemKind.ODD_SHAPE, "a tool result has no content")
        return Message(Role.TOOL, "", tool_call_id=call_id)
    inner = take_apart(content, note)
    return Message(Role.TOOL, inner.content if inner.parts else "", tool_call_id=call_id)
