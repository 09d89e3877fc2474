"""A streamed answer of the chat completions dialect, put together into the shape of one that came whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from compaction.endpoints.event_stream import ServerEvent
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.loose_json import as_list, as_object, piece_of, text_of
from compaction.endpoints.openai_chat import REASONING_KEYS, raise_for_error
from compaction.endpoints.streamed_answer import StreamedAnswer
from compaction.wording import worded


def join_stream(events: Iterable[ServerEvent]) -> StreamedAnswer:
    """The whole answer. Raises EndpointFault for an error in the stream, and when the stream ended too early."""
    joined = _Joined()
    for event in events:
        if event.is_done:
            joined.is_complete = True
        else:
            joined.add(event.document(), event.end_bytes)
    if not joined.is_complete:
        message = worded("the answer ended before it was complete")
        raise EndpointFault(FaultName.CONNECTION_LOST, message, retryable=True, is_sick=True)
    return StreamedAnswer(joined.document(), joined.first_bytes)


class _Joined:
    """Pieces of an answer, added as they came."""

    def __init__(self) -> None:
        self.is_complete = False
        self.first_bytes: int | None = None
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._refusals: list[str] = []
        self._calls: list[Any] = []
        self._finish_reason: str | None = None
        self._model: str | None = None
        self._usage: Mapping[str, Any] = {}

    def add(self, chunk: Mapping[str, Any], end_bytes: int) -> None:
        raise_for_error(chunk)
        self._model = self._model or text_of(chunk, "model")
        self._usage = as_object(chunk.get("usage")) or self._usage
        for choice in map(as_object, as_list(chunk.get("choices"))[:1]):
            raise_for_error(choice)
            self._add_delta(as_object(choice.get("delta")) or as_object(choice.get("message")), end_bytes)
            if reason := text_of(choice, "finish_reason"):
                self._finish_reason, self.is_complete = reason, True

    def _add_delta(self, delta: Mapping[str, Any], end_bytes: int) -> None:
        text = piece_of(delta, "content")
        thought = piece_of(delta, *REASONING_KEYS)
        refusal = piece_of(delta, "refusal")
        calls = as_list(delta.get("tool_calls"))
        self._texts.append(text)
        self._thoughts.append(thought)
        self._refusals.append(refusal)
        self._calls += calls
        if self.first_bytes is None and (text or thought or refusal or calls):
            self.first_bytes = end_bytes

    def document(self) -> dict[str, Any]:
        message = {
            "content": "".join(self._texts),
            "reasoning_content": "".join(self._thoughts),
            "refusal": "".join(self._refusals),
            "tool_calls": self._calls,
        }
        choice = {"message": message, "finish_reason": self._finish_reason}
        return {"model": self._model, "choices": [choice], "usage": self._usage}
