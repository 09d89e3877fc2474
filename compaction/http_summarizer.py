"""The summarizer that asks a model over HTTP: an OpenAI-compatible endpoint, or Anthropic's.

The engine's only way to the outside. It puts a question in the endpoint's dialect, sends it through a client that
checks addresses, waits, retries and knows when to leave an endpoint alone, and turns whatever comes back into a reply.
A failure of the other side is a reply with a named reason, never an exception. The key is read from the environment at
each call, by name, or was stored for this one place; it goes nowhere but into the request, and what an endpoint says is
cleaned of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.chat_request import RequestShape, ask_in_accepted_shape
from compaction.endpoints.dialects import question, read_answer
from compaction.endpoints.endpoint import Endpoint
from compaction.endpoints.faults import EndpointFault
from compaction.endpoints.http_client import ClientSettings, HttpClient
from compaction.endpoints.http_connection import HttpAnswer, HttpRequest
from compaction.endpoints.key import EndpointKey
from compaction.endpoints.stored_key import StoredKey
from compaction.endpoints.timing import TimeLimits
from compaction.summarizer import Reply, SummaryRequest

_CONNECT_SECONDS: Final = 10.0


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
        stored_key: StoredKey | None = None,
        is_streamed: bool = False,
    ) -> None:
        self._endpoint = endpoint
        self._rules = rules
        self._client = client or HttpClient(rules, client_settings(endpoint))
        self._environment = environment
        self._stored_key = stored_key
        self._is_streamed = is_streamed
        self._key = EndpointKey(endpoint, rules, environment, stored_key)

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
            self._endpoint,
            self._rules,
            client=self._client,
            environment=self._environment,
            stored_key=self._stored_key,
            is_streamed=True,
        )

    def ask(self, request: SummaryRequest) -> Reply:
        """Ask, within the endpoint's time limit. duration_ms covers every attempt and wait."""
        started = self._client.timing.monotonic()
        try:
            reply = self._reply(request)
        except EndpointFault as fault:
            reply = Reply(error=str(fault.reason), error_detail=self._key.told(fault))
        return replace(reply, duration_ms=round((self._client.timing.monotonic() - started) * 1_000))

    def _reply(self, request: SummaryRequest) -> Reply:
        endpoint, gate_key = self._endpoint, self._endpoint.gate_key
        sent_headers = self._key.headers()
        deadline = self._client.deadline()

        def ask(shape: RequestShape) -> Reply:
            body = question(endpoint.dialect, request, endpoint.model, shape)
            return self._client.post(HttpRequest(endpoint.url, body, sent_headers), gate_key, deadline, self._read)

        return ask_in_accepted_shape(self._client.gate_of(gate_key).shapes, endpoint, self._is_streamed, ask)

    def _read(self, answer: HttpAnswer) -> Reply:
        return read_answer(self._endpoint.dialect, answer.content_type, answer.body, answer.arrivals)
