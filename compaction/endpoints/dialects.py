"""The dialects side by side: putting a question in one of them, and reading its answer, whole or streamed."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from compaction.endpoints import anthropic_messages, anthropic_stream, openai_chat, openai_stream
from compaction.endpoints.answer_body import EVENT_STREAM, document_of
from compaction.endpoints.chat_request import RequestShape
from compaction.endpoints.endpoint import Dialect
from compaction.endpoints.event_stream import read_events
from compaction.summarizer import Reply, SummaryRequest

# (bytes so far, seconds since the question was put) for each piece of an answer as it came.
Arrivals = Sequence[tuple[int, float]]


def question(dialect: Dialect, request: SummaryRequest, model: str, shape: RequestShape) -> bytes:
    """The body to send. Escaped, so that half a surrogate pair in a transcript can't stop the question."""
    spoken = anthropic_messages if dialect is Dialect.ANTHROPIC else openai_chat
    return json.dumps(spoken.request_body(request, model, shape)).encode()


def headers(dialect: Dialect, key: str) -> tuple[tuple[str, str], ...]:
    """The headers that go with a question; an empty key is not sent."""
    spoken = anthropic_messages if dialect is Dialect.ANTHROPIC else openai_chat
    common = (("content-type", "application/json"), ("accept", f"application/json, {EVENT_STREAM}"))
    return (*common, *spoken.key_headers(key))


def read_answer(dialect: Dialect, content_type: str, body: bytes, arrivals: Arrivals = ()) -> Reply:
    """The reply in an answer with a good status; first_token_ms is known for a stream. Raises EndpointFault."""
    is_anthropic = dialect is Dialect.ANTHROPIC
    read_reply = anthropic_messages.read_reply if is_anthropic else openai_chat.read_reply
    if content_type != EVENT_STREAM:
        return read_reply(document_of(body))
    join_stream = anthropic_stream.join_stream if is_anthropic else openai_stream.join_stream
    streamed = join_stream(read_events(body))
    return replace(read_reply(streamed.document), first_token_ms=_arrival_ms(streamed.first_bytes, arrivals))


def _arrival_ms(size_bytes: int | None, arrivals: Arrivals) -> int | None:
    """When the piece came with which so many bytes were there."""
    if size_bytes is None or not arrivals:
        return None
    index = bisect_left(arrivals, size_bytes, key=lambda arrival: arrival[0])
    return round(arrivals[min(index, len(arrivals) - 1)][1] * 1_000)
