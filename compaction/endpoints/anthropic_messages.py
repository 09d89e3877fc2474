"""Anthropic's messages dialect (`/v1/messages`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from compaction.endpoints.chat_request import RequestShape
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.loose_json import as_list, as_object, count_of, text_of
from compaction.summarizer import Reply, SummaryRequest, Usage
from compaction.wording import worded

VERSION: Final = "2023-06-01"
# A limit must be sent; this one is within what every model of the family can write.
DEFAULT_LIMIT_TOKENS: Final = 4_096
_OVERLOADED: Final = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
# In the words of the chat completions dialect, which the rest of the engine uses.
_FINISH_REASONS: Final = (
    ("end_turn", "stop"),
    ("stop_sequence", "stop"),
    ("max_tokens", "length"),
    ("model_context_window_exceeded", "length"),
    ("tool_use", "tool_calls"),
)


def request_body(request: SummaryRequest, model: str, shape: RequestShape) -> dict[str, Any]:
    """The question as the JSON object to send."""
    body: dict[str, Any] = {
        "model": model,
        "system": request.system,
        "messages": [{"role": "user", "content": request.user}],
        "max_tokens": request.max_output_tokens or DEFAULT_LIMIT_TOKENS,
        "stream": shape.is_streamed,
    }
    if shape.has_temperature:
        body["temperature"] = request.temperature
    return body


def key_headers(key: str) -> tuple[tuple[str, str], ...]:
    """The version, and the key when there is one."""
    version = ("anthropic-version", VERSION)
    return (version, ("x-api-key", key)) if key else (version,)


def read_reply(document: Mapping[str, Any]) -> Reply:
    """The reply in an answer. Raises EndpointFault for an error that came with a good status, and for odd shapes."""
    raise_for_error(document)
    if not isinstance(document.get("content"), list):
        raise EndpointFault(FaultName.ODD_SHAPE, worded("the answer holds no list of content"))
    blocks = [as_object(block) for block in as_list(document.get("content"))]
    text = "".join(text_of(block, "text") or "" for block in blocks if block.get("type") == "text")
    reason = document.get("stop_reason")
    refusal = None
    if reason == "refusal":
        refusal = text_of(as_object(document.get("stop_details")), "explanation") or text or "the model refused"
    return Reply(
        text=text,
        finish_reason=finish_reason(reason),
        refusal=refusal,
        reasoning=_reasoning(blocks),
        has_tool_calls=any(str(block.get("type", "")).endswith("tool_use") for block in blocks),
        model=text_of(document, "model"),
        usage=read_usage(as_object(document.get("usage"))),
    )


def raise_for_error(document: Mapping[str, Any]) -> None:
    """Raise the error an answer with a good status reports."""
    error = as_object(document.get("error"))
    if not error and document.get("type") != "error":
        return
    passes = error.get("type") in _OVERLOADED
    message = text_of(error, "message") or worded("no reason given")
    raise EndpointFault(FaultName.PROVIDER_ERROR, message, retryable=passes, is_sick=passes)


def finish_reason(value: object) -> str | None:
    """Why the answer ended, in the words of the chat completions dialect where it has one."""
    if not isinstance(value, str) or not value:
        return None
    return dict(_FINISH_REASONS).get(value, value)


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Tokens as reported. What was read from and written to the cache is reported apart from the input here, and is
    part of the input everywhere else, so it is added."""
    fresh_tokens = count_of(usage, "input_tokens")
    cached_tokens = count_of(usage, "cache_read_input_tokens")
    written_tokens = count_of(usage, "cache_creation_input_tokens")
    details = as_object(usage.get("output_tokens_details"))
    return Usage(
        input_tokens=None if fresh_tokens is None else fresh_tokens + (cached_tokens or 0) + (written_tokens or 0),
        output_tokens=count_of(usage, "output_tokens"),
        reasoning_tokens=count_of(details, "thinking_tokens", "reasoning_tokens"),
        cached_tokens=cached_tokens,
    )


def _reasoning(blocks: list[Mapping[str, Any]]) -> str | None:
    thoughts = []
    for block in blocks:
        if block.get("type") == "thinking":
            thoughts.append(text_of(block, "thinking") or "[hidden]")
        elif block.get("type") == "redacted_thinking":
            thoughts.append("[hidden]")
    return "\n".join(thoughts) or None
