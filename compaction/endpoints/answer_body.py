"""What stands in the body of an answer: a JSON object, a stream of events, or something that is neither.

Bodies come from outside. Nothing here raises anything but faults, and what is told to people is cleaned of secrets by
whoever knows them, and then shortened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.loose_json import as_object, text_of
from compaction.wording import worded

EVENT_STREAM: Final = "text/event-stream"
_TITLE: Final = re.compile(r"<title[^>]*>(.{0,300}?)</title>", re.IGNORECASE | re.DOTALL)
_LONGEST_REASON_CHARS: Final = 300


def document_of(body: bytes) -> Mapping[str, Any]:
    """The JSON object in `body`. Raises EndpointFault with the name of what is there instead."""
    if not body.strip():
        raise EndpointFault(FaultName.EMPTY_BODY, worded("the answer has no body"), retryable=True)
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        if is_html(body):
            raise EndpointFault(FaultName.HTML_PAGE, worded("the answer is not JSON"), body=body) from None
        raise EndpointFault(FaultName.INVALID_JSON, worded("the answer is not valid JSON"), body=body) from None
    if not isinstance(document, Mapping):
        raise EndpointFault(
            FaultName.ODD_SHAPE, worded("the answer is a JSON {}, not an object", type(document).__name__)
        )
    return document


def is_html(body: bytes) -> bool:
    """Whether `body` looks like a web page."""
    return body[:200].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html", b"<head"))


def stated_reason(body: bytes, clean: Callable[[str], str]) -> str:
    """What a body that is no answer says, in one line; empty when it says nothing.

    `clean` takes secrets out of a text; it sees all of the text before anything is cut off.
    """
    text = body.decode("utf-8", "replace")
    if is_html(body):
        title = _TITLE.search(text)
        return worded("a web page: {}", _line(clean(title[1]))) if title else worded("a web page")
    try:
        document = as_object(json.loads(text))
    except (ValueError, RecursionError):
        return _line(clean(text))
    reported = document.get("error")
    if isinstance(reported, str) and reported:
        return _line(clean(reported))
    error = as_object(reported) or document
    return _line(clean(text_of(error, "message", "detail", "error", "msg") or text))


def _line(text: str) -> str:
    """One line of readable text, cut to size."""
    readable = "".join(character if character.isprintable() else " " for character in text[: _LONGEST_REASON_CHARS * 4])
    line = " ".join(readable.split())
    return line if len(line) <= _LONGEST_REASON_CHARS else line[:_LONGEST_REASON_CHARS] + "…"
