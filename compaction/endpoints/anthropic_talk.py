"""The main model in Anthropic's dialect: the body of a question, and an answer that is put together as it comes.

Results of tools are a user's content there, the system prompt stands apart, and pictures are written differently. What
a model thought is signed; it is sent again only as it came, with its signature, or not at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from compaction.endpoints.anthropic_messages import (
    DEFAULT_LIMIT_TOKENS,
    finish_reason,
    raise_for_error,
    read_usage,
)
from compaction.endpoints.chat_request import RequestShape
from compaction.endpoints.event_stream import ServerEvent
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.loose_json import as_list, as_object, count_of, piece_of, text_of
from compaction.messages import Content, ImagePart, Message, Role, TextPart
from compaction.summarizer import Usage
from compaction.talk import Piece, PieceKind, TalkAnswer, TalkQuestion
from compaction.wire import message_from_openai
from compaction.wording import worded

_DATA_URI: Final = re.compile(r"data:(image/[\w.+-]+);base64,(.+)", re.DOTALL)
_THINKING: Final = ("thinking", "redacted_thinking")
_DELTAS: Final = (
    ("text", PieceKind.TEXT),
    ("thinking", PieceKind.REASONING),
    ("partial_json", PieceKind.CALL),
    ("signature", None),
)


def request_body(question: TalkQuestion, model: str, shape: RequestShape) -> dict[str, Any]:
    """The question as the JSON object to send."""
    body: dict[str, Any] = {
        "model": model,
        "messages": _turns(question.messages),
        "max_tokens": question.max_output_tokens or DEFAULT_LIMIT_TOKENS,
        "stream": shape.is_streamed,
    }
    system = [message.text for message in question.messages if _is_system(message) and message.text.strip()]
    if system:
        body["system"] = "\n\n".join(system)
    if question.tools:
        body["tools"] = [_tool(json.loads(tool)) for tool in question.tools]
    if question.temperature is not None and shape.has_temperature:
        body["temperature"] = question.temperature
    return body


def _is_system(message: Message) -> bool:
    return message.role in (Role.SYSTEM, Role.DEVELOPER)


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = as_object(tool.get("function")) or tool
    written = {
        "name": function.get("name"),
        "description": function.get("description"),
        "input_schema": function.get("parameters") or {"type": "object", "properties": {}},
    }
    return {key: value for key, value in written.items() if value is not None}


def _turns(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """User and assistant by turns: results of tools and what the user says next are one message."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if _is_system(message):
            continue
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = _blocks(message)
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        content = _content_blocks(message.content) or [{"type": "text", "text": "(no output)"}]
        return [{"type": "tool_result", "tool_use_id": message.tool_call_id or "", "content": content}]
    calls = [
        {"type": "tool_use", "id": call.id or "", "name": call.name, "input": _arguments(call.arguments)}
        for call in message.tool_calls
    ]
    return [*_thoughts(message), *_content_blocks(message.content), *calls]


def _thoughts(message: Message) -> list[dict[str, Any]]:
    """The thinking of a message whose reasoning is sent again: its signed blocks, and nothing without a signature."""
    if message.reasoning is None or not message.extras:
        return []
    blocks = as_list(json.loads(message.extras).get("thinking_blocks"))
    return [dict(block) for block in map(as_object, blocks) if block.get("type") in _THINKING]


def _content_blocks(content: Content) -> list[dict[str, Any]]:
    if content is None or isinstance(content, str):
        return [{"type": "text", "text": content}] if content and content.strip() else []
    blocks = []
    for part in content:
        if isinstance(part, TextPart):
            blocks += [{"type": "text", "text": part.text}] if part.text.strip() else []
        elif isinstance(part, ImagePart):
            blocks.append(_picture(json.loads(part.raw)))
        else:
            blocks.append({"type": "text", "text": f"[{part.type or 'content'} that can't be shown here]"})
    return blocks


def _picture(part: Mapping[str, Any]) -> dict[str, Any]:
    """A picture of the other dialect, by its data or its address; one of this dialect stays as it is."""
    if part.get("type") == "image":
        return dict(part)
    written = part.get("image_url")
    address = written if isinstance(written, str) else text_of(as_object(written), "url") or ""
    if found := _DATA_URI.fullmatch(address):
        return {"type": "image", "source": {"type": "base64", "media_type": found[1], "data": found[2]}}
    return {"type": "image", "source": {"type": "url", "url": address}}


def _arguments(text: str) -> dict[str, Any]:
    """Arguments as an object, which is all this dialect takes; what is none keeps its text."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        value = None
    return dict(value) if isinstance(value, Mapping) else {"arguments": text}


def whole_answer(document: Mapping[str, Any]) -> TalkAnswer:
    """The answer in a document. Raises EndpointFault for errors that came with a good status, and for odd shapes."""
    raise_for_error(document)
    if not isinstance(document.get("content"), list):
        raise EndpointFault(FaultName.ODD_SHAPE, worded("the answer holds no list of content"))
    blocks = [as_object(block) for block in as_list(document.get("content"))]
    return _answer(blocks, document, read_usage(as_object(document.get("usage"))), is_complete=True)


def _answer(
    blocks: Sequence[Mapping[str, Any]], head: Mapping[str, Any], usage: Usage, is_complete: bool
) -> TalkAnswer:
    message = _said(blocks, is_complete)
    refusal = message.text or "the model refused" if message and head.get("stop_reason") == "refusal" else None
    return TalkAnswer(
        message=message,
        is_complete=is_complete,
        finish_reason=finish_reason(head.get("stop_reason")),
        refusal=refusal,
        usage=usage,
        model=text_of(head, "model"),
    )


def _said(blocks: Sequence[Mapping[str, Any]], is_complete: bool) -> Message | None:
    text = "".join(piece_of(block, "text") for block in blocks if block.get("type") == "text")
    calls = [_call(block) for block in blocks if str(block.get("type", "")).endswith("tool_use")]
    thoughts = [dict(block) for block in blocks if block.get("type") in _THINKING]
    if not text and (not is_complete or not (calls or thoughts)):
        return None
    said: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls and is_complete:
        said["tool_calls"] = calls
    if thoughts and is_complete:
        reasoning = "\n".join(piece_of(block, "thinking") or "[hidden]" for block in thoughts)
        said |= {"reasoning_content": reasoning, "thinking_blocks": thoughts}
    return message_from_openai(said, lambda problem: None)


def _call(block: Mapping[str, Any]) -> dict[str, Any]:
    value = block.get("input")
    arguments = value if isinstance(value, str) else json.dumps(value or {}, ensure_ascii=False)
    return {
        "id": text_of(block, "id"),
        "type": "function",
        "function": {"name": text_of(block, "name") or "", "arguments": arguments},
    }


class AnthropicJoining:
    """An answer that comes as a stream. `add` gives the pieces of each event; `answer` is what has come so far."""

    def __init__(self) -> None:
        self.is_complete = False
        self._head: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}

    def add(self, event: ServerEvent) -> tuple[Piece, ...]:
        """The pieces in `event`. Raises EndpointFault for an error that is told in the stream."""
        told = event.document()
        raise_for_error(told)
        match told.get("type"):
            case "message_start":
                message = as_object(told.get("message"))
                self._head = {"model": message.get("model")}
                self._usage = dict(as_object(message.get("usage")))
            case "content_block_start":
                return self._begin(count_of(told, "index") or 0, as_object(told.get("content_block")))
            case "content_block_delta":
                return self._add_delta(count_of(told, "index") or 0, as_object(told.get("delta")))
            case "message_delta":
                self._head |= as_object(told.get("delta"))
                self._usage |= as_object(told.get("usage"))
            case "message_stop":
                self.is_complete = True
        return ()

    def answer(self) -> TalkAnswer:
        """The answer so far. Calls and thoughts that were cut off are left out."""
        blocks = [self._whole(index) for index in sorted(self._blocks)]
        return _answer(blocks, self._head, read_usage(self._usage), self.is_complete)

    def _begin(self, index: int, block: Mapping[str, Any]) -> tuple[Piece, ...]:
        self._blocks[index] = dict(block)
        if str(block.get("type", "")).endswith("tool_use"):
            return (Piece(PieceKind.CALL, "", index, piece_of(block, "name"), piece_of(block, "id")),)
        text = piece_of(block, "text")
        return (Piece(PieceKind.TEXT, text),) if text else ()

    def _add_delta(self, index: int, delta: Mapping[str, Any]) -> tuple[Piece, ...]:
        self._blocks.setdefault(index, {"type": "text"})
        pieces = []
        for key, kind in _DELTAS:
            text = piece_of(delta, key)
            if text:
                self._pieces.setdefault((index, key), []).append(text)
                if kind is not None:
                    pieces.append(Piece(kind, text, index))
        return tuple(pieces)

    def _whole(self, index: int) -> dict[str, Any]:
        block = dict(self._blocks[index])
        for key in ("text", "thinking", "signature"):
            if (index, key) in self._pieces:
                block[key] = piece_of(block, key) + "".join(self._pieces[index, key])
        if (index, "partial_json") in self._pieces:
            block["input"] = "".join(self._pieces[index, "partial_json"])
        return block
