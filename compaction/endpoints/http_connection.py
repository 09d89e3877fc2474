"""One HTTP exchange: a request out, an answer in, over a connection of its own.

Two things are done here that an HTTP library does not do by itself. The address is checked when the connection is made
and the connection goes to the checked numbers, so a name can't resolve to something else in between. And each read and
write is held to what is left of the whole time, so an endpoint that sends one byte a second is stopped like a silent
one.

A connection is used once: questions are far between, servers close idle connections in the meantime, and a fresh one
costs a fraction of what a summary takes. Proxies from the environment are not used; the address check would be theirs.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from queue import Empty, SimpleQueue
from socket import SOCK_STREAM, gaierror, getaddrinfo
from threading import Thread
from typing import Any, Final, TypeVar

import httpcore
import httpx

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.http_faults import FaultTranslator
from compaction.endpoints.http_line import Line
from compaction.endpoints.timing import Deadline, TimeLimits
from compaction.wording import worded

Resolver = Callable[[str, int], Sequence[str]]
Result = TypeVar("Result")

# What is read of an answer that says no: enough for its reason.
_ERROR_BODY_BYTES: Final = 64 * 1024
_ONE_PIECE_SECONDS: Final = 0.001
_ENCODINGS: Final = frozenset({"", "identity", "gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A POST. Headers may hold a key, so they never show in a repr."""

    url: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer with its body. arrivals: (bytes so far, seconds since the question was put) for each piece."""

    status: int
    headers: httpx.Headers
    body: bytes
    arrivals: tuple[tuple[int, float], ...] = ()

    @property
    def content_type(self) -> str:
        """The media type, without parameters; empty when the answer doesn't say."""
        return media_type(self.headers)


@dataclass(frozen=True, slots=True)
class Arriving:
    """A good answer that is still coming. pieces: its decoded body as it comes, to be read once."""

    status: int
    headers: httpx.Headers
    pieces: Iterator[bytes]

    @property
    def content_type(self) -> str:
        """The media type, without parameters; empty when the answer doesn't say."""
        return media_type(self.headers)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an exchange needs beside the request: rules, limits, names, and the certificates it trusts."""

    rules: OutboundRules
    limits: TimeLimits
    resolve: Resolver
    tls: Callable[[], ssl.SSLContext]
    most_body_bytes: int


def media_type(headers: httpx.Headers) -> str:
    """The media type that headers name, without parameters; empty when they name none."""
    return str(headers.get("content-type", "")).partition(";")[0].strip().lower()


def resolve_name(host: str, port: int) -> tuple[str, ...]:
    """The addresses of `host` as the system knows them, in its order."""
    return tuple(dict.fromkeys(str(found[4][0]) for found in getaddrinfo(host, port, type=SOCK_STREAM)))


@lru_cache(maxsize=1)
def default_tls() -> ssl.SSLContext:
    """The usual certificate authorities, or those SSL_CERT_FILE names; made once, it takes a while."""
    return httpx.create_ssl_context()


def exchange(request: HttpRequest, surroundings: Surroundings, deadline: Deadline) -> HttpAnswer:
    """Send `request` and read the answer. Raises EndpointFault for all that goes wrong short of a status."""
    return _talk(request, surroundings, deadline, Line(), lambda answer: _whole(answer, surroundings, deadline))


def exchange_arriving(
    request: HttpRequest,
    surroundings: Surroundings,
    deadline: Deadline,
    line: Line,
    consume: Callable[[Arriving], Result],
) -> Result | HttpAnswer:
    """Send `request` and have `consume` read a good answer while it comes; any other answer is returned whole.

    line: what another thread cuts to end the call. Raises EndpointFault, called cancelled when the line was cut.
    """

    def use(answer: httpx.Response) -> Result | HttpAnswer:
        if not 200 <= answer.status_code <= 299:
            return _whole(answer, surroundings, deadline)
        _check_announced(answer, surroundings.most_body_bytes, is_error=False)
        return consume(Arriving(answer.status_code, answer.headers, _pieces(answer, surroundings.most_body_bytes)))

    return _talk(request, surroundings, deadline, line, use)


def _talk(
    request: HttpRequest,
    surroundings: Surroundings,
    deadline: Deadline,
    line: Line,
    use: Callable[[httpx.Response], Result],
) -> Result:
    if line.is_cut:
        raise EndpointFault(FaultName.CANCELLED, worded("nobody waits for the answer any more"))
    url = _url_of(request)
    translator = FaultTranslator(url.host, surroundings.limits, deadline, line)
    with translator, _pool(url.scheme == "https", surroundings, deadline, line) as pool:
        return _answer(pool, request, url, surroundings, use)


def _url_of(request: HttpRequest) -> httpx.URL:
    """The address in parts. Some that look like one, such as IPv4 addresses with leading zeros, mean nothing."""
    try:
        return httpx.URL(request.url)
    except httpx.InvalidURL:
        raise EndpointFault(FaultName.ADDRESS_REFUSED, worded("the host of this address is no valid one")) from None


def _pool(
    is_encrypted: bool, surroundings: Surroundings, deadline: Deadline, line: Line
) -> httpcore.ConnectionPool:
    return httpcore.ConnectionPool(
        ssl_context=surroundings.tls() if is_encrypted else None,
        max_connections=1,
        max_keepalive_connections=0,
        network_backend=_GuardedBackend(surroundings, deadline, line),
    )


def _answer(
    pool: httpcore.ConnectionPool,
    request: HttpRequest,
    url: httpx.URL,
    surroundings: Surroundings,
    use: Callable[[httpx.Response], Result],
) -> Result:
    limits = surroundings.limits
    timeouts = {"connect": limits.connect_seconds, "read": limits.read_seconds, "write": limits.read_seconds}
    # Host and Content-Length are filled in by httpx.
    full = httpx.Request(
        "POST",
        url,
        headers=[*request.headers, ("accept-encoding", "identity"), ("connection", "close")],
        content=request.body,
    )
    with pool.stream(
        "POST",
        httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=full.headers.raw,
        content=request.body,
        extensions={"timeout": timeouts},
    ) as raw:
        return use(httpx.Response(raw.status, headers=raw.headers, stream=_Body(raw), request=full))


def _whole(answer: httpx.Response, surroundings: Surroundings, deadline: Deadline) -> HttpAnswer:
    body, arrivals = _read(answer, surroundings.most_body_bytes, deadline)
    return HttpAnswer(answer.status_code, answer.headers, body, arrivals)


def _pieces(answer: httpx.Response, most_bytes: int) -> Iterator[bytes]:
    """The decoded body as it comes, never more than allowed."""
    size = 0
    for piece in answer.iter_bytes():
        size += len(piece)
        if size > most_bytes:
            raise _too_large(most_bytes)
        yield piece


class _Body(httpx.SyncByteStream):
    """The body of a core response in the shape httpx decodes."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._response.iter_stream())


def _read(answer: httpx.Response, most_bytes: int, deadline: Deadline) -> tuple[bytes, tuple[tuple[int, float], ...]]:
    """The decoded body, never more than allowed. An answer that says no is cut off instead of refused."""
    is_error = answer.status_code >= 300
    most = _ERROR_BODY_BYTES if is_error else most_bytes
    _check_announced(answer, most, is_error)
    body = bytearray()
    arrivals: list[tuple[int, float]] = []
    for piece in answer.iter_bytes():
        body += piece
        _note_arrival(arrivals, len(body), deadline.elapsed_seconds)
        if len(body) > most and not is_error:
            raise _too_large(most)
        if len(body) > most:
            break
    return bytes(body[:most]), tuple(arrivals)


def _note_arrival(arrivals: list[tuple[int, float]], size: int, seconds: float) -> None:
    """Note a piece; what comes within a millisecond is one, or an endpoint could fill our memory with single bytes."""
    if arrivals and seconds - arrivals[-1][1] < _ONE_PIECE_SECONDS:
        arrivals[-1] = (size, arrivals[-1][1])
    else:
        arrivals.append((size, seconds))


def _check_announced(answer: httpx.Response, most: int, is_error: bool) -> None:
    """Refuse what can be seen to be wrong from the headers. One layer of packing at most: layers multiply."""
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise EndpointFault(
            FaultName.ODD_ENCODING, worded("the answer is packed as {!r}, which was not asked for", encoding[:40])
        )
    announced = answer.headers.get("content-length", "")
    if not is_error and announced.isdecimal() and int(announced[:20]) > most:
        raise _too_large(most)


def _too_large(most: int) -> EndpointFault:
    return EndpointFault(
        FaultName.REPLY_TOO_LARGE, worded("the answer is larger than {:,} bytes and was not read further", most)
    )


class _GuardedBackend(httpcore.NetworkBackend):
    """Makes connections to checked addresses only, and none that outlive the deadline."""

    def __init__(self, surroundings: Surroundings, deadline: Deadline, line: Line) -> None:
        self._surroundings, self._deadline, self._line = surroundings, deadline, line
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Resolve, check, connect to the first address that takes the connection."""
        addresses = self._resolved(host, port)
        if refusal := self._surroundings.rules.refusal(host, addresses):
            raise EndpointFault(FaultName.ADDRESS_REFUSED, refusal)
        for number, address in enumerate(addresses, 1):
            try:
                stream = self._plain.connect_tcp(address, port, self._time(timeout), local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(addresses) or self._deadline.is_over:
                    raise
            else:
                self._line.hold(stream.get_extra_info("socket"))
                return _HurriedStream(stream, self._deadline)
        raise AssertionError("refusal() lets no empty list through")

    def _time(self, timeout: float | None) -> float:
        left = self._deadline.left_seconds
        if left <= 0:
            raise httpcore.ConnectTimeout
        return left if timeout is None else min(timeout, left)

    def _resolved(self, host: str, port: int) -> Sequence[str]:
        """Resolve in a thread of its own: the system's resolver knows no time-out."""
        answers: SimpleQueue[Sequence[str] | Exception] = SimpleQueue()

        def work() -> None:
            try:
                answers.put(self._surroundings.resolve(host, port))
            except Exception as error:  # whatever it is, it is raised again where somebody waits for it
                answers.put(error)

        Thread(target=work, daemon=True, name="resolve").start()
        try:
            found = answers.get(timeout=self._time(self._surroundings.limits.connect_seconds))
        except Empty:
            raise httpcore.ConnectTimeout from None
        if isinstance(found, gaierror | UnicodeError | OSError):
            message = worded("the name {} can't be resolved", host)
            raise EndpointFault(FaultName.DNS_FAILED, message, retryable=True, is_sick=True) from found
        if isinstance(found, Exception):
            raise found
        return found


class _HurriedStream(httpcore.NetworkStream):
    """A connection on which no single step may take longer than what is left in all."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there, up to `max_bytes`."""
        return self._stream.read(max_bytes, self._time(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of `buffer`."""
        self._stream.write(buffer, self._time(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """The same connection, encrypted; the certificate is checked against the name, not the address."""
        left = self._time(timeout, httpcore.ConnectTimeout)
        return _HurriedStream(self._stream.start_tls(ssl_context, server_hostname, left), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Facts about the connection, as the plain one knows them."""
        return self._stream.get_extra_info(info)

    def _time(self, timeout: float | None, over: type[httpcore.TimeoutException]) -> float:
        left = self._deadline.left_seconds
        if left <= 0:
            raise over
        return left if timeout is None else min(timeout, left)
