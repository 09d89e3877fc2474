"""The summarizer that asks a model over HTTP: an OpenAI-compatible endpoint, or Anthropic's.

The engine's only way to the outside. It puts a question in the endpoint's dialect, sends it through a client that
checks addresses, waits, retries and knows when to leave an endpoint alone, and turns whatever comes back into a reply.
A failure of the other side is a reply with a named reason, never an exception. The key is read from the environment at
each call, by name, and goes nowhere but into the request: what an endpoint says is cleaned of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.answer_body import document_of, stated_reason
from compaction.endpoints.chat_request import NEWER_OPENAI_LIMIT, RequestShape, shape_after
from compaction.endpoints.dialects import headers, question, read_answer
from compaction.endpoints.endpoint import Endpoint
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.http_client import ClientSettings, HttpClient
from compaction.endpoints.http_connection import HttpAnswer, HttpRequest
from compaction.endpoints.timing import TimeLimits
from compaction.redaction import MASK, redact
from compaction.storable import storable_text
from compaction.summarizer import Reply, SummaryRequest

_CONNECT_SECONDS: Final = 10.0
# A refused parameter is changed and the question put again: three parameters can be refused.
_MOST_SHAPES: Final = 4
_REFUSALS: Final = frozenset({400, 422})
_LONGEST_DETAIL_CHARS: Final = 500
_USER_AGENT: Final = "hermes-sessions"


def client_settings(endpoint: Endpoint) -> ClientSettings:
    """The usual settings of a client for `endpoint`: an answer that comes whole may be silent for all of its time."""
    total = endpoint.total_seconds
    return ClientSettings(TimeLimits(min(_CONNECT_SECONDS, total), total, total))


class HttpSummarizer:
    """Asks the model at `endpoint`, under `rules`. Can be shared between threads.

    is_streamed: have the answer come piece by piece, which measures the time to its first token; some servers don't
    report usage then.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        rules: OutboundRules,
        *,
        client: HttpClient | None = None,
        environment: Mapping[str, str] = os.environ,
        is_streamed: bool = False,
    ) -> None:
        self._endpoint = endpoint
        self._rules = rules
        self._client = client or HttpClient(rules, client_settings(endpoint))
        self._environment = environment
        self._is_streamed = is_streamed

    @property
    def model(self) -> str:
        """The model's name; the provider's when the endpoint chooses the model itself."""
        return self._endpoint.model or self._endpoint.provider

    @property
    def window_tokens(self) -> int | None:
        """The window as set; None when it was not."""
        return self._endpoint.window_tokens

    @property
    def endpoint(self) -> Endpoint:
        """Where it asks."""
        return self._endpoint

    def streamed(self) -> HttpSummarizer:
        """The same summarizer, with answers that come piece by piece."""
        return HttpSummarizer(
            self._endpoint, self._rules, client=self._client, environment=self._environment, is_streamed=True
        )

    def ask(self, request: SummaryRequest) -> Reply:
        """Ask, within the endpoint's time limit. duration_ms covers every attempt and wait."""
        started = self._client.timing.monotonic()
        try:
            reply = self._reply(request)
        except EndpointFault as fault:
            reply = Reply(error=str(fault.reason), error_detail=self._detail(fault))
        return replace(reply, duration_ms=round((self._client.timing.monotonic() - started) * 1_000))

    def _reply(self, request: SummaryRequest) -> Reply:
        """Ask in the shape that worked last; a refused parameter is changed and the question put again."""
        sent_headers = self._headers()
        deadline = self._client.deadline()
        shapes = self._client.gate_of(self._endpoint.gate_key).shapes
        shape = replace(shapes.get(self._endpoint.model, self._first_shape()), is_streamed=self._is_streamed)
        for tries_left in range(_MOST_SHAPES - 1, -1, -1):
            body = question(self._endpoint.dialect, request, self._endpoint.model, shape)
            asked = HttpRequest(self._endpoint.url, body, sent_headers)
            try:
                reply = self._client.post(asked, self._endpoint.gate_key, deadline, self._read)
            except EndpointFault as fault:
                changed = _changed(shape, fault)
                if changed is None or not tries_left:
                    raise
                shape = changed
            else:
                shapes[self._endpoint.model] = shape
                return reply
        raise AssertionError("the last try returns or raises")

    def _first_shape(self) -> RequestShape:
        """OpenAI's own models all take the newer name of the limit, and the newest nothing else."""
        return RequestShape(NEWER_OPENAI_LIMIT) if self._endpoint.host == "api.openai.com" else RequestShape()

    def _headers(self) -> tuple[tuple[str, str], ...]:
        return (("user-agent", _USER_AGENT), *headers(self._endpoint.dialect, self._checked_key()))

    def _key(self) -> str:
        return self._environment.get(self._endpoint.key_env, "").strip() if self._endpoint.key_env else ""

    def _checked_key(self) -> str:
        """The key, if there is to be one and it may go to this host."""
        variable = self._endpoint.key_env
        if not variable:
            return ""
        if refusal := self._rules.key_refusal(variable, self._endpoint.host):
            raise EndpointFault(FaultName.KEY_REFUSED, refusal)
        key = self._key()
        if not key:
            raise EndpointFault(FaultName.KEY_MISSING, f"the environment variable {variable} is not set")
        if not key.isascii() or not key.isprintable():
            raise EndpointFault(FaultName.KEY_INVALID, f"the environment variable {variable} does not hold a key")
        return key

    def _read(self, answer: HttpAnswer) -> Reply:
        return read_answer(self._endpoint.dialect, answer.content_type, answer.body, answer.arrivals)

    def _detail(self, fault: EndpointFault) -> str:
        """What people are told: our words, then the endpoint's own, without any secret."""
        key = self._key()

        def clean(text: str) -> str:
            return text.replace(key, MASK) if key else text

        stated = stated_reason(fault.body, clean) if fault.body else ""
        told = redact(clean(storable_text(f"{fault}: {stated}" if stated else str(fault)))).text
        return told if len(told) <= _LONGEST_DETAIL_CHARS else told[:_LONGEST_DETAIL_CHARS] + "…"


def _changed(shape: RequestShape, fault: EndpointFault) -> RequestShape | None:
    """The shape to put the question in again, when the endpoint refused a parameter."""
    if fault.status not in _REFUSALS or not fault.body:
        return None
    try:
        return shape_after(shape, document_of(fault.body))
    except EndpointFault:
        return None
