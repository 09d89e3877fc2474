"""What the network and the HTTP library raise, as faults with a name and a sentence."""

from __future__ import annotations

import ssl

import httpcore
import httpx

from compaction.endpoints.faults import EndpointFault, FaultName
from compaction.endpoints.http_line import Line
from compaction.endpoints.timing import Deadline, TimeLimits
from compaction.wording import worded


class FaultTranslator:
    """Turns whatever the network and the HTTP library raise into faults."""

    def __init__(self, host: str, limits: TimeLimits, deadline: Deadline, line: Line) -> None:
        self._host, self._limits, self._deadline, self._line = host, limits, deadline, line

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._line.is_cut and isinstance(error, Exception):
            raise EndpointFault(FaultName.CANCELLED, worded("nobody waits for the answer any more")) from error
        if isinstance(error, EndpointFault) or error is None:
            return
        if fault := self._fault(error):
            raise fault from error

    def _fault(self, error: BaseException) -> EndpointFault | None:
        if isinstance(error, httpcore.TimeoutException):
            return self._timeout(error)
        if isinstance(error, httpcore.ConnectError):
            return self._unconnected(error)
        if isinstance(error, httpcore.NetworkError | httpcore.RemoteProtocolError) and _was_cut(error):
            message = worded("{} closed the connection before the answer was complete", self._host)
            return EndpointFault(FaultName.CONNECTION_LOST, message, retryable=True, is_sick=True)
        if isinstance(error, httpcore.RemoteProtocolError):
            return EndpointFault(FaultName.NOT_HTTP, worded("{} does not answer in HTTP", self._host), is_sick=True)
        if isinstance(error, httpx.DecodingError):
            return EndpointFault(FaultName.ODD_ENCODING, worded("the answer can't be unpacked"))
        return None

    def _timeout(self, error: httpcore.TimeoutException) -> EndpointFault:
        if isinstance(error, httpcore.ConnectTimeout) and not self._deadline.is_over:
            message = worded("no connection to {} within {:g} s", self._host, self._limits.connect_seconds)
            return EndpointFault(FaultName.CONNECT_TIMEOUT, message, retryable=True, is_sick=True)
        message = worded("no complete answer within {:g} s", self._deadline.limit_seconds)
        if not self._deadline.is_over:
            message = worded("{} was silent for {:g} s", self._host, self._limits.read_seconds)
        return EndpointFault(FaultName.TIMEOUT, message, is_sick=True)

    def _unconnected(self, error: httpcore.ConnectError) -> EndpointFault:
        cause = error.__cause__ or error.__context__
        if isinstance(cause, ssl.SSLCertVerificationError):
            message = worded("the certificate of {} is not accepted: {}", self._host, cause.verify_message)
            return EndpointFault(FaultName.TLS_FAILED, message)
        if isinstance(cause, ssl.SSLError):
            return EndpointFault(FaultName.TLS_FAILED, worded("{} does not speak TLS as expected", self._host))
        why = getattr(cause, "strerror", None) or worded("the connection failed")
        message = worded("can't connect to {}: {}", self._host, why)
        return EndpointFault(FaultName.CONNECT_FAILED, message, retryable=True, is_sick=True)


def _was_cut(error: Exception) -> bool:
    """Whether the connection ended, and not: what came was no HTTP."""
    return isinstance(error, httpcore.NetworkError) or "without" in str(error) or "closed" in str(error)
