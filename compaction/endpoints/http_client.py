"""Asking an endpoint with patience: attempts, waits, the circuit breaker and the queue around single exchanges.

Everything happens within one deadline. A call waits for a place at the endpoint, asks the breaker, makes one exchange,
and decides by what came back whether to ask again; it does not hold its place while it waits to ask again.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import httpx

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.breaker import Permit
from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.gates import PROCESS_GATES, Gate, Gates
from compaction.endpoints.http_connection import (
    Arriving,
    HttpAnswer,
    HttpRequest,
    Resolver,
    Surroundings,
    default_tls,
    exchange,
    exchange_arriving,
    resolve_name,
)
from compaction.endpoints.http_line import Line
from compaction.endpoints.retrying import RetryRules, is_retryable, retry_after_seconds, wait_seconds
from compaction.endpoints.timing import Deadline, TimeLimits, Timing
from compaction.wording import worded

Result = TypeVar("Result")

_MOST_REDIRECTS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
# Only these two say: send the same again, to another place.
_KEEPING_REDIRECTS: Final = frozenset({307, 308})


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How calls are made.

    most_calls: calls under way at one endpoint at a time. most_body_bytes: the largest answer that is read.
    """

    limits: TimeLimits = TimeLimits()
    retries: RetryRules = RetryRules()
    most_calls: int = 4
    most_body_bytes: int = 8 * 1024 * 1024


class HttpClient:
    """Makes calls under one set of rules. Safe to share between threads; holds no connection while idle."""

    def __init__(
        self,
        rules: OutboundRules,
        settings: ClientSettings | None = None,
        *,
        timing: Timing | None = None,
        gates: Gates = PROCESS_GATES,
        resolve: Resolver = resolve_name,
        tls: Callable[[], ssl.SSLContext] = default_tls,
    ) -> None:
        self._settings = settings or ClientSettings()
        self.timing = timing or Timing()
        self._gates = gates
        self._surroundings = Surroundings(rules, self._settings.limits, resolve, tls, self._settings.most_body_bytes)

    def deadline(self) -> Deadline:
        """A deadline that begins now, for one question."""
        return Deadline(self._settings.limits.total_seconds, self.timing)

    def gate_of(self, key: str) -> Gate:
        """What all callers of the endpoint called `key` share."""
        return self._gates.gate_of(key)

    def post(
        self, request: HttpRequest, gate_key: str, deadline: Deadline, read: Callable[[HttpAnswer], Result]
    ) -> Result:
        """Send `request` and give its good answer to `read`; what `read` raises as a fault is retried like any other.

        gate_key: names the endpoint whose breaker and places this call shares. Raises EndpointFault.
        """
        return self._patiently(gate_key, deadline, lambda: read(self._answer(request, deadline)))

    def stream(
        self,
        request: HttpRequest,
        gate_key: str,
        deadline: Deadline,
        consume: Callable[[Arriving], Result],
        line: Line | None = None,
    ) -> Result:
        """Send `request` and have `consume` read its good answer while it comes.

        Nothing is asked again once the answer has begun. line: cut by another thread, it ends the call. Raises
        EndpointFault.
        """
        held = line or Line()
        begun: list[bool] = []

        def consume_once(arriving: Arriving) -> Result:
            begun.append(True)
            return consume(arriving)

        def call() -> Result:
            return self._arriving(request, deadline, held, consume_once)

        return self._patiently(gate_key, deadline, call, lambda: bool(begun) or held.is_cut)

    def _patiently(
        self,
        gate_key: str,
        deadline: Deadline,
        call: Callable[[], Result],
        is_too_late: Callable[[], bool] = lambda: False,
    ) -> Result:
        """Make the call, again and again as the rules say, unless it is too late for that."""
        gate = self.gate_of(gate_key)
        attempt = 1
        while True:
            try:
                return self._attempt(gate, deadline, call)
            except EndpointFault as fault:
                wait = None if is_too_late() else self._wait(fault, attempt, deadline)
                if wait is None:
                    raise _told(fault, attempt, deadline) from fault
            self.timing.sleep(wait)
            attempt += 1

    def _wait(self, fault: EndpointFault, attempt: int, deadline: Deadline) -> float | None:
        """Seconds to wait before asking again; None when that makes no sense any more."""
        rules = self._settings.retries
        if not fault.retryable or attempt >= rules.most_attempts:
            return None
        if fault.status is not None and not rules.repeats_answered:
            return None
        wait = wait_seconds(rules, attempt, fault.retry_after_seconds, self.timing.chance())
        return wait if wait < deadline.left_seconds else None

    def _attempt(self, gate: Gate, deadline: Deadline, call: Callable[[], Result]) -> Result:
        if not gate.enter(self._settings.most_calls, deadline.left_seconds):
            message = worded("no place was free within {:g} s; calls under way: {}", deadline.limit_seconds, gate.busy)
            raise EndpointFault(FaultName.ENDPOINT_BUSY, message)
        try:
            permit = gate.breaker.admit(self.timing.monotonic())
            if permit is None:
                raise self._kept_away(gate)
            return self._judged(gate, permit, call)
        finally:
            gate.leave()

    def _kept_away(self, gate: Gate) -> EndpointFault:
        left = gate.breaker.seconds_left(self.timing.monotonic())
        until = worded("for another {:.0f} s", left) if left > 0 else worded("until a first call has succeeded")
        message = worded("the endpoint failed repeatedly ({}) and is left alone {}", gate.breaker.last_reason, until)
        return EndpointFault(FaultName.CIRCUIT_OPEN, message, retry_after_seconds=left)

    def _judged(self, gate: Gate, permit: Permit, call: Callable[[], Result]) -> Result:
        """Make the call and tell the breaker how it went."""
        try:
            result = call()
        except EndpointFault as fault:
            if fault.is_sick:
                gate.breaker.failed(permit, self.timing.monotonic(), fault.reason)
            elif fault.status is not None:
                gate.breaker.succeeded(permit)
            else:
                gate.breaker.abandoned(permit)
            raise
        except BaseException:
            gate.breaker.abandoned(permit)
            raise
        gate.breaker.succeeded(permit)
        return result

    def _answer(self, request: HttpRequest, deadline: Deadline) -> HttpAnswer:
        """The answer with status 200, through redirects that stay where they are."""
        for _ in range(_MOST_REDIRECTS + 1):
            answer = exchange(request, self._surroundings, deadline)
            if answer.status not in _REDIRECTS:
                return self._accepted(answer)
            request = _redirected(request, answer)
        raise _lost_in_redirects()

    def _arriving(
        self, request: HttpRequest, deadline: Deadline, line: Line, consume: Callable[[Arriving], Result]
    ) -> Result:
        """What `consume` makes of the good answer, through redirects that stay where they are."""
        for _ in range(_MOST_REDIRECTS + 1):
            answer = exchange_arriving(request, self._surroundings, deadline, line, consume)
            if not isinstance(answer, HttpAnswer):
                return answer
            if answer.status not in _REDIRECTS:
                self._accepted(answer)
            request = _redirected(request, answer)
        raise _lost_in_redirects()

    def _accepted(self, answer: HttpAnswer) -> HttpAnswer:
        if 200 <= answer.status <= 299:
            return answer
        raise EndpointFault(
            f"http_{answer.status}",
            worded("HTTP {}", answer.status),
            retryable=is_retryable(answer.status),
            is_sick=is_retryable(answer.status),
            retry_after_seconds=retry_after_seconds(answer.headers, self.timing.epoch()),
            status=answer.status,
            body=answer.body,
        )


def _lost_in_redirects() -> EndpointFault:
    return EndpointFault(FaultName.REDIRECT_REFUSED, worded("more than {} redirects", _MOST_REDIRECTS))


def _redirected(request: HttpRequest, answer: HttpAnswer) -> HttpRequest:
    """The same request at the new place, if that is the same server and may be asked the same."""
    old = httpx.URL(request.url)
    try:
        new = old.join(answer.headers.get("location", ""))
    except (httpx.InvalidURL, ValueError):
        raise EndpointFault(FaultName.REDIRECT_REFUSED, worded("the answer redirects to no valid address")) from None
    if answer.status not in _KEEPING_REDIRECTS:
        message = worded(
            "HTTP {}: the answer redirects and would have the question sent without its text", answer.status
        )
        raise EndpointFault(FaultName.REDIRECT_REFUSED, message)
    if (new.scheme, new.host, new.port) != (old.scheme, old.host, old.port) or new.userinfo:
        message = worded(
            "the answer redirects from {} to {}, and other hosts are not followed",
            old.host,
            new.host[:100] or worded("nowhere"),
        )
        raise EndpointFault(FaultName.REDIRECT_REFUSED, message)
    return HttpRequest(str(new), request.body, request.headers)


def _told(fault: EndpointFault, attempts: int, deadline: Deadline) -> EndpointFault:
    """The fault with what was tried, for people."""
    message = fault.said
    asked = fault.retry_after_seconds if fault.status is not None else None
    if asked is not None and asked >= deadline.left_seconds > 0:
        message = worded("{}; the endpoint asks to wait {:.0f} s, longer than the time left", message, asked)
    if attempts > 1:
        message = worded("{}, after {} attempts", message, attempts)
    return EndpointFault(
        fault.reason,
        message,
        retry_after_seconds=fault.retry_after_seconds,
        status=fault.status,
        body=fault.body,
    )
