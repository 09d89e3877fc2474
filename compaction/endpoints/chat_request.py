"""How a question is put, and what an endpoint was found to want differently.

Models differ in two parameters that can't be told from their names for ever: how the limit of an answer is called, and
whether a temperature may be given. Both are tried the common way first; a refusal that names the parameter changes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from compaction.endpoints.answer_body import document_of
from compaction.endpoints.endpoint import Endpoint
from compaction.endpoints.faults import EndpointFault
from compaction.endpoints.loose_json import as_object

T = TypeVar("T")

OPENAI_LIMIT: Final = "max_tokens"
NEWER_OPENAI_LIMIT: Final = "max_completion_tokens"
# A refused parameter is changed and the question put again: three parameters can be refused.
MOST_SHAPES: Final = 4
_REFUSALS: Final = frozenset({400, 422})
_COMPLAINT: Final = re.compile(
    r"unsupported|not support|deprecated|unrecogni[sz]ed|not permitted|not allowed|forbidden|unknown|only the default"
)
_MOST_READ_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class RequestShape:
    """Parameters as the endpoint wants them. is_streamed: the answer is asked for piece by piece."""

    limit_key: str = OPENAI_LIMIT
    has_temperature: bool = True
    is_streamed: bool = False
    has_stream_options: bool = True


def first_shape(host: str) -> RequestShape:
    """How `host` is asked first. OpenAI's own models all take the newer name of the limit, the newest nothing else."""
    return RequestShape(NEWER_OPENAI_LIMIT) if host == "api.openai.com" else RequestShape()


def changed_shape(shape: RequestShape, fault: EndpointFault) -> RequestShape | None:
    """The shape to put the question in again, when the endpoint refused a parameter."""
    if fault.status not in _REFUSALS or not fault.body:
        return None
    try:
        return shape_after(shape, document_of(fault.body))
    except EndpointFault:
        return None


def ask_in_accepted_shape(
    shapes: MutableMapping[str, RequestShape], endpoint: Endpoint, is_streamed: bool, ask: Callable[[RequestShape], T]
) -> T:
    """What `ask` returns for the shape that worked last; a refused parameter is changed and it is asked again.

    shapes: by model, where the shape that worked is kept. Raises EndpointFault when the refusal is about something
    else.
    """
    known = shapes.get(endpoint.model, first_shape(endpoint.host))
    shape = replace(known, is_streamed=is_streamed)
    for tries_left in range(MOST_SHAPES - 1, -1, -1):
        try:
            answer = ask(shape)
        except EndpointFault as fault:
            changed = changed_shape(shape, fault)
            if changed is None or not tries_left:
                raise
            shape = changed
        else:
            shapes[endpoint.model] = shape
            return answer
    raise AssertionError("the last try returns or raises")


def shape_after(shape: RequestShape, error_document: Mapping[str, Any]) -> RequestShape | None:
    """The shape to try after a refusal; None when the refusal is about something else."""
    error = as_object(error_document.get("error")) or error_document
    said = json.dumps(error, ensure_ascii=False)[:_MOST_READ_CHARS]
    if not _COMPLAINT.search(said.lower()):
        return None
    if shape.limit_key == OPENAI_LIMIT and NEWER_OPENAI_LIMIT in said:
        return replace(shape, limit_key=NEWER_OPENAI_LIMIT)
    if shape.limit_key == NEWER_OPENAI_LIMIT and NEWER_OPENAI_LIMIT in said:
        return replace(shape, limit_key=OPENAI_LIMIT)
    if shape.has_temperature and "temperature" in said:
        return replace(shape, has_temperature=False)
    if shape.is_streamed and shape.has_stream_options and "stream_options" in said:
        return replace(shape, has_stream_options=False)
    return None
