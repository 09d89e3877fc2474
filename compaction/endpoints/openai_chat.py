"""The chat completions dialect, as spoken by OpenAI, OpenRouter, Ollama, llama.cpp, vLLM and many others.

Servers that speak it agree on the outline and differ in the details: where reasoning stands, what usage is called,
whether an error comes with an error status. What is there is taken; what is missing stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from compaction.endpoints.chat_request import RequestShape
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.loose_json import as_list, as_object, count_of, text_of
from compaction.endpoints.retrying import is_retryable
from compaction.summarizer import Reply, SummaryRequest, Usage
from compaction.wording import worded

REASONING_KEYS: Final = ("reasoning_content", "reasoning", "thinking")
_LENGTH_WORDS: Final = frozenset({"length", "max_tokens", "model_length"})


def request_body(request: SummaryRequest, model: str, shape: RequestShape) -> dict[str, Any]:
    """The question as the JSON object to send."""
    body: dict[str, Any] = {
        "messages": [{"role": "system", "content": request.system}, {"role": "user", "content": request.user}],
        "stream": shape.is_streamed,
    }
    if model:
        body["model"] = model
    if request.max_output_tokens is not None:
        body[shape.limit_key] = request.max_output_tokens
    if shape.has_temperature:
        body["temperature"] = request.temperature
    if shape.is_streamed and shape.has_stream_options:
        body["stream_options"] = {"include_usage": True}
    return body


def key_headers(key: str) -> tuple[tuple[str, str], ...]:
    """The headers that carry the key; none without a key."""
    return (("authorization", f"Bearer {key}"),) if key else ()


def read_reply(document: Mapping[str, Any]) -> Reply:
    """The reply in an answer. Raises EndpointFault for an error that came with a good status, and for odd shapes."""
    raise_for_error(document)
    choices = as_list(document.get("choices"))
    if not choices:
        raise EndpointFault(FaultName.ODD_SHAPE, worded("the answer holds no choices"))
    choice = as_object(choices[0])
    raise_for_error(choice)
    message = as_object(choice.get("message"))
    if not message:
        raise EndpointFault(FaultName.ODD_SHAPE, worded("the answer's first choice holds no message"))
    text, refused, thought = _content(message.get("content"))
    return Reply(
        text=text,
        finish_reason=finish_reason(choice.get("finish_reason")),
        refusal=text_of(message, "refusal") or refused,
        reasoning=text_of(message, *REASONING_KEYS) or _details(message) or thought,
        has_tool_calls=bool(as_list(message.get("tool_calls")) or as_object(message.get("function_call"))),
        model=text_of(document, "model"),
        usage=read_usage(as_object(document.get("usage"))),
    )


def raise_for_error(document: Mapping[str, Any]) -> None:
    """Raise the error an answer with a good status reports. Its code may be the HTTP status it stands for."""
    reported = document.get("error")
    if not reported:
        return
    error = as_object(reported)
    message = text_of(error, "message") or (reported if isinstance(reported, str) else worded("no reason given"))
    code = count_of(error, "code", "status")
    if code is not None and 400 <= code <= 599:
        passes = is_retryable(code)
        raise EndpointFault(f"http_{code}", message, retryable=passes, is_sick=passes)
    raise EndpointFault(FaultName.PROVIDER_ERROR, message)


def finish_reason(value: object) -> str | None:
    """Why the answer ended, in this dialect's usual words."""
    if not isinstance(value, str) or not value:
        return None
    return "length" if value.lower() in _LENGTH_WORDS else value


def read_usage(usage: Mapping[str, Any]) -> Usage:
    """Tokens as reported. The output includes the reasoning, the input includes what was cached."""
    output_details = as_object(usage.get("completion_tokens_details"))
    input_details = as_object(usage.get("prompt_tokens_details"))
    cached_tokens = count_of(input_details, "cached_tokens")
    return Usage(
        input_tokens=count_of(usage, "prompt_tokens", "input_tokens"),
        output_tokens=count_of(usage, "completion_tokens", "output_tokens"),
        reasoning_tokens=count_of(output_details, "reasoning_tokens"),
        cached_tokens=count_of(usage, "prompt_cache_hit_tokens") if cached_tokens is None else cached_tokens,
    )


def _content(content: object) -> tuple[str | None, str | None, str | None]:
    """Text, refusal and reasoning of a content: a text, a list of parts, or nothing."""
    if isinstance(content, str):
        return text_of({"text": content}, "text") or "", None, None
    parts = [as_object(part) for part in as_list(content)]
    if not parts:
        return None, None, None
    texts = [text_of(part, "text") or "" for part in parts if part.get("type") in ("text", "output_text")]
    refusals = [text_of(part, "refusal") or "" for part in parts if part.get("type") == "refusal"]
    thoughts = [_thought(part) for part in parts if part.get("type") in ("thinking", "reasoning")]
    return "".join(texts), "".join(refusals) or None, "\n".join(thoughts) or None


def _thought(part: Mapping[str, Any]) -> str:
    pieces = [text_of(as_object(piece), "text") or "" for piece in as_list(part.get("thinking"))]
    return text_of(part, "thinking", "reasoning", "text") or "".join(pieces)


def _details(message: Mapping[str, Any]) -> str | None:
    """Reasoning as a list of pieces, some of which may be summaries or encrypted."""
    pieces = [as_object(piece) for piece in as_list(message.get("reasoning_details"))]
    return "\n".join(text_of(piece, "text", "summary") or "[hidden]" for piece in pieces) or None
