"""The main model over HTTP: a question in its endpoint's dialect, and the answer while it comes or as a whole.

The same client as the summarizer's makes the calls, so the same rules hold: addresses are checked, waits are bounded,
a broken endpoint is left alone. A failure of the other side is an answer with a named reason, never an exception.
Calls of the main model share no places and no breaker with those of a summarizer at the same address: either may be
slow without the other having to wait.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.answer_body import EVENT_STREAM, document_of
from compaction.endpoints.chat_request import RequestShape, ask_in_accepted_shape
from compaction.endpoints.dialects import talk_body, talk_joining, whole_talk
from compaction.endpoints.endpoint import Endpoint
from compaction.endpoints.event_feed import EventFeed
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.http_client import ClientSettings, HttpClient
from compaction.endpoints.http_connection import Arriving, HttpRequest
from compaction.endpoints.http_line import Line
from compaction.endpoints.key import EndpointKey
from compaction.endpoints.retrying import RetryRules
from compaction.endpoints.stored_key import StoredKey
from compaction.endpoints.timing import TimeLimits, Timing
from compaction.main_model import MainModel
from compaction.talk import Piece, TalkAnswer, TalkQuestion
from compaction.wording import worded

_CONNECT_SECONDS: Final = 10.0
_MOST_CALLS: Final = 64
_MOST_BODY_BYTES: Final = 64 * 1024 * 1024

_LOST_LINES: Final = (FaultName.CANCELLED, FaultName.CONNECTION_LOST, FaultName.TIMEOUT)

OnPiece = Callable[[Piece], None]
OnBytes = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Passage:
    """How a question of somebody else's is passed on. on_head: called once with status and media type, before the body
    of a good answer. on_bytes: called with each piece of the body as it comes."""

    on_head: Callable[[int, str], None]
    on_bytes: OnBytes


def talk_settings(model: MainModel, *, is_streamed: bool, repeats_answered: bool = True) -> ClientSettings:
    """The settings of a client for `model`. repeats_answered: whether answers that say no are asked again here."""
    total = float(model.timeout_seconds)
    silence = min(float(model.silence_seconds), total) if is_streamed else total
    return ClientSettings(
        TimeLimits(min(_CONNECT_SECONDS, total), silence, total),
        RetryRules(repeats_answered=repeats_answered),
        _MOST_CALLS,
        _MOST_BODY_BYTES,
    )


class HttpMainModel:
    """Asks the main model at `endpoint`, under `rules`. Can be shared between threads."""

    def __init__(
        self,
        endpoint: Endpoint,
        rules: OutboundRules,
        client: HttpClient,
        environment: Mapping[str, str] = os.environ,
        stored_key: StoredKey | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._client = client
        self._key = EndpointKey(endpoint, rules, environment, stored_key)

    def ask(
        self, question: TalkQuestion, on_piece: OnPiece | None = None, line: Line | None = None
    ) -> TalkAnswer:
        """The answer; with `on_piece` it is asked for as a stream, and told piece by piece. Cutting `line` ends it."""
        hearing = _Hearing(self.endpoint, self._client.timing, on_piece or (lambda piece: None))
        try:
            self._ask(question, hearing, on_piece is not None, line or Line())
        except EndpointFault as fault:
            return hearing.failed(fault, self._key)
        return hearing.answer()

    def pass_on(self, body: bytes, passage: Passage, line: Line | None = None) -> TalkAnswer:
        """Send `body` as it is and pass the answer on as it comes; returns what the answer said.

        The body must be in the endpoint's dialect. Nothing was passed on when the answer has a status or an error and
        `on_head` was not called.
        """
        hearing = _Hearing(self.endpoint, self._client.timing, lambda piece: None, passage)
        try:
            self._send(body, hearing, line or Line())
        except EndpointFault as fault:
            return hearing.failed(fault, self._key)
        return hearing.answer()

    def _ask(self, question: TalkQuestion, hearing: _Hearing, is_streamed: bool, line: Line) -> None:
        endpoint = self.endpoint

        def ask(shape: RequestShape) -> None:
            self._send(talk_body(endpoint.dialect, question, endpoint.model, shape), hearing, line)

        ask_in_accepted_shape(self._client.gate_of(self._gate_key).shapes, endpoint, is_streamed, ask)

    def _send(self, body: bytes, hearing: _Hearing, line: Line) -> None:
        request = HttpRequest(self.endpoint.url, body, self._key.headers())
        self._client.stream(request, self._gate_key, self._client.deadline(), hearing.consume, line)

    @property
    def _gate_key(self) -> str:
        return f"main {self.endpoint.gate_key}"


class _Hearing:
    """One answer as it is heard: joined, timed, and told to whoever listens."""

    def __init__(
        self, endpoint: Endpoint, timing: Timing, on_piece: OnPiece, passage: Passage | None = None
    ) -> None:
        self._endpoint, self._timing = endpoint, timing
        self._on_piece, self._passage = on_piece, passage
        self._joining = talk_joining(endpoint.dialect)
        self._whole: TalkAnswer | None = None
        self._begun = timing.monotonic()
        self._first_token_ms: int | None = None

    def consume(self, arriving: Arriving) -> None:
        """Hear a good answer to its end. Raises EndpointFault for one that ends too early or tells an error."""
        if self._passage is not None:
            self._passage.on_head(arriving.status, arriving.content_type)
        if arriving.content_type == EVENT_STREAM:
            self._hear_stream(arriving)
        else:
            self._whole = whole_talk(self._endpoint.dialect, document_of(b"".join(self._passed(arriving))))

    def answer(self) -> TalkAnswer:
        """What has been heard."""
        heard = self._whole or self._joining.answer()
        return replace(heard, first_token_ms=self._first_token_ms, duration_ms=self._elapsed_ms())

    def failed(self, fault: EndpointFault, key: EndpointKey) -> TalkAnswer:
        """What had been heard when the call failed, with the reason. What had come to its end is whole, however the
        connection ended."""
        if self._joining.is_complete and fault.reason in _LOST_LINES:
            return self.answer()
        heard = self._joining.answer()
        return replace(
            heard,
            is_complete=False,
            error=str(fault.reason),
            error_detail=key.told(fault),
            error_body=key.clean(fault.body.decode("utf-8", "replace")),
            status=fault.status,
            retry_after_seconds=fault.retry_after_seconds,
            first_token_ms=self._first_token_ms,
            duration_ms=self._elapsed_ms(),
        )

    def _hear_stream(self, arriving: Arriving) -> None:
        feed = EventFeed()
        for piece in self._passed(arriving):
            for event in feed.feed(piece):
                self._tell(self._joining.add(event))
        for event in feed.end():
            self._tell(self._joining.add(event))
        if not self._joining.is_complete:
            message = worded("the answer ended before it was complete")
            raise EndpointFault(FaultName.CONNECTION_LOST, message, retryable=True, is_sick=True)

    def _passed(self, arriving: Arriving) -> Iterator[bytes]:
        """The pieces of the body, each passed on before it is read."""
        for piece in arriving.pieces:
            if self._passage is not None:
                self._passage.on_bytes(piece)
            yield piece

    def _tell(self, pieces: tuple[Piece, ...]) -> None:
        if pieces and self._first_token_ms is None:
            self._first_token_ms = self._elapsed_ms()
        for piece in pieces:
            self._on_piece(piece)

    def _elapsed_ms(self) -> int:
        return round((self._timing.monotonic() - self._begun) * 1_000)
