"""A streamed answer of Anthropic's dialect, put together into the shape of one that came whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from compaction.endpoints.anthropic_messages import raise_for_error
from compaction.endpoints.event_stream import ServerEvent
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.loose_json import as_object, count_of, piece_of
from compaction.endpoints.streamed_answer import StreamedAnswer
from compaction.wording import worded

_DELTAS: Final = ("text", "thinking", "partial_json")


def join_stream(events: Iterable[ServerEvent]) -> StreamedAnswer:
    """The whole answer. Raises EndpointFault for an error in the stream, and when the stream ended too early."""
    joined = _Joined()
    for event in events:
        joined.add(event.document(), event.end_bytes)
    if not joined.is_complete:
        message = worded("the answer ended before it was complete")
        raise EndpointFault(FaultName.CONNECTION_LOST, message, retryable=True, is_sick=True)
    return StreamedAnswer(joined.document(), joined.first_bytes)


class _Joined:
    """Blocks of an answer, filled as their pieces came."""

    def __init__(self) -> None:
        self.is_complete = False
        self.first_bytes: int | None = None
        self._head: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}

    def add(self, event: Mapping[str, Any], end_bytes: int) -> None:
        raise_for_error(event)
        match event.get("type"):
            case "message_start":
                message = as_object(event.get("message"))
                self._head = {"model": message.get("model")}
                self._usage = dict(as_object(message.get("usage")))
            case "content_block_start":
                block = dict(as_object(event.get("content_block")))
                self._blocks[count_of(event, "index") or 0] = block
                self._note_first(block, end_bytes)
            case "content_block_delta":
                self._add_delta(count_of(event, "index") or 0, as_object(event.get("delta")), end_bytes)
            case "message_delta":
                self._head |= as_object(event.get("delta"))
                self._usage |= as_object(event.get("usage"))
            case "message_stop":
                self.is_complete = True

    def _add_delta(self, index: int, delta: Mapping[str, Any], end_bytes: int) -> None:
        block = self._blocks.setdefault(index, {"type": "text"})
        for key in _DELTAS:
            if piece := piece_of(delta, key):
                block.setdefault(f"{key} pieces", []).append(piece)
        self._note_first(delta, end_bytes)

    def _note_first(self, piece: Mapping[str, Any], end_bytes: int) -> None:
        if self.first_bytes is None and piece_of(piece, *_DELTAS):
            self.first_bytes = end_bytes

    def document(self) -> dict[str, Any]:
        content = [_whole(self._blocks[index]) for index in sorted(self._blocks)]
        return {**self._head, "content": content, "usage": self._usage}


def _whole(block: Mapping[str, Any]) -> dict[str, Any]:
    whole = {key: value for key, value in block.items() if not key.endswith(" pieces")}
    for key in ("text", "thinking"):
        pieces = block.get(f"{key} pieces", [])
        if pieces:
            whole[key] = piece_of(block, key) + "".join(pieces)
    return whole
