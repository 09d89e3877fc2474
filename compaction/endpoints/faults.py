"""What went wrong between us and an endpoint, by name.

A fault is raised inside this package only; the summarizer turns it into a reply. Its text is for people: it names the
host and never holds a key, a header or a query.
"""

from __future__ import annotations

from enum import StrEnum

from compaction.errors import SummarizerError


class FaultName(StrEnum):
    """Reasons that are not an HTTP status; those are called http_400, http_503 and so on."""

    TIMEOUT = "timeout"
    CONNECT_TIMEOUT = "connect_timeout"
    CONNECT_FAILED = "connect_failed"
    DNS_FAILED = "dns_failed"
    TLS_FAILED = "tls_failed"
    CONNECTION_LOST = "connection_lost"
    NOT_HTTP = "not_http"
    ADDRESS_REFUSED = "address_refused"
    REDIRECT_REFUSED = "redirect_refused"
    REPLY_TOO_LARGE = "reply_too_large"
    ODD_ENCODING = "odd_encoding"
    EMPTY_BODY = "empty_body"
    HTML_PAGE = "html_page"
    INVALID_JSON = "invalid_json"
    ODD_SHAPE = "odd_shape"
    PROVIDER_ERROR = "provider_error"
    CIRCUIT_OPEN = "circuit_open"
    ENDPOINT_BUSY = "endpoint_busy"
    CANCELLED = "cancelled"
    KEY_MISSING = "key_missing"
    KEY_INVALID = "key_invalid"
    KEY_REFUSED = "key_refused"


class EndpointFault(SummarizerError):
    """A call that failed.

    retryable: whether asking again may help. is_sick: whether the endpoint itself is to blame, which is what a circuit
    breaker counts. retry_after_seconds: how long the endpoint asked us to stay away. status, body: the answer, when
    there was one; the body is what the endpoint said and must be cleaned before anybody sees it.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        retryable: bool = False,
        is_sick: bool = False,
        retry_after_seconds: float | None = None,
        status: int | None = None,
        body: bytes = b"",
    ) -> None:
        super().__init__(message, reason=reason, retryable=retryable)
        self.is_sick = is_sick
        self.retry_after_seconds = retry_after_seconds
        self.status = status
        self.body = body
