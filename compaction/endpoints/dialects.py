"""The dialects side by side: putting a question in one of them, and reading its answer, whole or streamed.

Questions to summarizers are one text; what is said to a main model is a whole conversation, and is called talk here.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from compaction.endpoints import anthropic_messages, anthropic_stream, openai_chat, openai_stream
from compaction.endpoints.answer_body import EVENT_STREAM, document_of
from compaction.endpoints.anthropic_talk import AnthropicJoining
from compaction.endpoints.anthropic_talk import request_body as anthropic_talk_body
from compaction.endpoints.anthropic_talk import whole_answer as whole_anthropic_talk
from compaction.endpoints.chat_request import RequestShape
from compaction.endpoints.endpoint import Dialect
from compaction.endpoints.event_stream import read_events
from compaction.endpoints.openai_talk import OpenaiJoining
from compaction.endpoints.openai_talk import request_body as openai_talk_body
from compaction.endpoints.openai_talk import whole_answer as whole_openai_talk
from compaction.summarizer import Reply, SummaryRequest
from compaction.talk import TalkAnswer, TalkQuestion

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


def talk_body(dialect: Dialect, said: TalkQuestion, model: str, shape: RequestShape) -> bytes:
    """The body of what is said to a main model."""
    body = anthropic_talk_body if dialect is Dialect.ANTHROPIC else openai_talk_body
    return json.dumps(body(said, model, shape)).encode()


def talk_joining(dialect: Dialect) -> AnthropicJoining | OpenaiJoining:
    """What puts an answer of a main model together as it comes."""
    return AnthropicJoining() if dialect is Dialect.ANTHROPIC else OpenaiJoining()


def whole_talk(dialect: Dialect, document: Mapping[str, Any]) -> TalkAnswer:
    """An answer of a main model that came whole. Raises EndpointFault."""
    return whole_anthropic_talk(document) if dialect is Dialect.ANTHROPIC else whole_openai_talk(document)


def _arrival_ms(size_bytes: int | None, arrivals: Arrivals) -> int | None:
    """When the piece came with which so many bytes were there."""
    if size_bytes is None or not arrivals:
        return None
    index = bisect_left(arrivals, size_bytes, key=lambda arrival: arrival[0])
    return round(arrivals[min(index, len(arrivals) - 1)][1] * 1_000)
