"""The main model in the chat completions dialect: the body of a question, and an answer put together as it comes.

A stream tells its choices side by side; the first one is followed, the others are the asker's business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from compaction.endpoints.chat_request import RequestShape
from compaction.endpoints.event_stream import ServerEvent
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.loose_json import as_list, as_object, count_of, piece_of, text_of
from compaction.endpoints.openai_chat import REASONING_KEYS, finish_reason, raise_for_error, read_usage
from compaction.messages import Message
from compaction.summarizer import Usage
from compaction.talk import Piece, PieceKind, TalkAnswer, TalkQuestion
from compaction.wire import message_from_openai, message_to_openai
from compaction.wording import worded

# Keys of a delta whose pieces are lists that continue each other.
_LIST_KEYS: Final = ("reasoning_details", "annotations")
# More calls than any answer holds; a larger index would only cost memory.
_MOST_CALLS: Final = 1_000


def request_body(question: TalkQuestion, model: str, shape: RequestShape) -> dict[str, Any]:
    """The question as the JSON object to send."""
    body: dict[str, Any] = {
        "messages": [message_to_openai(message) for message in question.messages],
        "stream": shape.is_streamed,
    }
    if model:
        body["model"] = model
    if question.tools:
        body["tools"] = [json.loads(tool) for tool in question.tools]
    if question.max_output_tokens:
        body[shape.limit_key] = question.max_output_tokens
    if question.temperature is not None and shape.has_temperature:
        body["temperature"] = question.temperature
    if shape.is_streamed and shape.has_stream_options:
        body["stream_options"] = {"include_usage": True}
    return body


def whole_answer(document: Mapping[str, Any]) -> TalkAnswer:
    """The answer in a document. Raises EndpointFault for errors that came with a good status, and for odd shapes."""
    raise_for_error(document)
    choices = as_list(document.get("choices"))
    choice = as_object(choices[0]) if choices else {}
    raise_for_error(choice)
    message = as_object(choice.get("message"))
    if not message:
        raise EndpointFault(FaultName.ODD_SHAPE, worded("the answer holds no message"))
    return TalkAnswer(
        message=_said(message),
        is_complete=True,
        finish_reason=finish_reason(choice.get("finish_reason")),
        refusal=text_of(message, "refusal"),
        usage=read_usage(as_object(document.get("usage"))),
        model=text_of(document, "model"),
    )


class OpenaiJoining:
    """An answer that comes as a stream. `add` gives the pieces of each event; `answer` is what has come so far."""

    def __init__(self) -> None:
        self.is_complete = False
        self._texts: dict[str, list[str]] = {"content": [], "refusal": [], **{key: [] for key in REASONING_KEYS}}
        self._lists: dict[str, list[Any]] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish_reason: str | None = None
        self._model: str | None = None
        self._usage = Usage()

    def add(self, event: ServerEvent) -> tuple[Piece, ...]:
        """The pieces in `event`. Raises EndpointFault for an error that is told in the stream."""
        if event.is_done:
            self.is_complete = True
            return ()
        chunk = event.document()
        raise_for_error(chunk)
        self._model = self._model or text_of(chunk, "model")
        if usage := as_object(chunk.get("usage")):
            self._usage = read_usage(usage)
        pieces: list[Piece] = []
        for choice in map(as_object, as_list(chunk.get("choices"))):
            raise_for_error(choice)
            if not count_of(choice, "index"):
                pieces += self._add_choice(choice)
        return tuple(pieces)

    def answer(self) -> TalkAnswer:
        """The answer so far. Calls that were cut off are left out: nobody can answer half a call."""
        return TalkAnswer(
            message=self._message(),
            is_complete=self.is_complete,
            finish_reason=self._finish_reason,
            refusal="".join(self._texts["refusal"]) or None,
            usage=self._usage,
            model=self._model,
        )

    def _add_choice(self, choice: Mapping[str, Any]) -> list[Piece]:
        delta = as_object(choice.get("delta")) or as_object(choice.get("message"))
        pieces = [piece for key, kind in _TEXT_KEYS if (piece := self._add_text(delta, key, kind)) is not None]
        for key in _LIST_KEYS:
            if found := as_list(delta.get(key)):
                self._lists.setdefault(key, []).extend(found)
        for order, call in enumerate(map(as_object, as_list(delta.get("tool_calls")))):
            pieces += self._add_call(call, order)
        if reason := finish_reason(choice.get("finish_reason")):
            self._finish_reason, self.is_complete = reason, True
        return pieces

    def _add_text(self, delta: Mapping[str, Any], key: str, kind: PieceKind) -> Piece | None:
        text = piece_of(delta, key)
        if not text:
            return None
        self._texts[key].append(text)
        return Piece(kind, text)

    def _add_call(self, call: Mapping[str, Any], order: int) -> list[Piece]:
        """A piece of a call. Some servers number no calls and send each of them whole."""
        index = count_of(call, "index")
        if index is None:
            index = len(self._calls) if text_of(call, "id") else max(self._calls, default=order)
        if index >= _MOST_CALLS:
            return []
        function = as_object(call.get("function"))
        held = self._calls.setdefault(index, {"id": "", "name": "", "arguments": []})
        held["id"] = held["id"] or piece_of(call, "id")
        held["name"] += piece_of(function, "name")
        arguments = piece_of(function, "arguments")
        held["arguments"].append(arguments)
        return [Piece(PieceKind.CALL, arguments, index, piece_of(function, "name"), piece_of(call, "id"))]

    def _message(self) -> Message | None:
        said: dict[str, Any] = {key: "".join(texts) for key, texts in self._texts.items() if any(texts)}
        if calls := [_whole_call(self._calls[index]) for index in sorted(self._calls)]:
            said["tool_calls"] = calls
        if not said or (not self.is_complete and not said.get("content")):
            return None
        if not self.is_complete:
            said.pop("tool_calls", None)
        return _said({**said, **self._lists})


_TEXT_KEYS: Final = (
    ("content", PieceKind.TEXT),
    ("refusal", PieceKind.REFUSAL),
    *((key, PieceKind.REASONING) for key in REASONING_KEYS),
)


def _whole_call(held: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": held["name"], "arguments": "".join(held["arguments"])}
    return {"id": held["id"], "type": "function", "function": function}


def _said(mapping: Mapping[str, Any]) -> Message:
    """The message that an answer holds. Its role is ours to say; what providers fill up with null is left out."""
    told = {key: value for key, value in mapping.items() if value is not None and value != []}
    return message_from_openai({"content": None, **told, "role": "assistant"}, lambda problem: None)
