"""How many requests the gateway works on at a time in this process, and how large they may be together.

Each holds a thread and its body for as long as its answer takes, also while it waits for a place at the main model's
endpoint. What doesn't fit is refused at once: a client that knows can ask again later, one that waits can't.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

from sessions_app.gateway.refusals import refusal

# Four times what one endpoint answers at a time, so a slow one doesn't take the places of others at once.
MOST_REQUESTS: Final = 256
MOST_BODY_BYTES: Final = 256 * 1024 * 1024
RETRY_SECONDS: Final = 5


class Room:
    """The requests under way. Safe to share between threads."""

    def __init__(self, most_requests: int = MOST_REQUESTS, most_body_bytes: int = MOST_BODY_BYTES) -> None:
        self._most_requests, self._most_body_bytes = most_requests, most_body_bytes
        self._lock = Lock()
        self._requests = self._body_bytes = 0

    def enter(self, body_bytes: int) -> None:
        """Take a request in. Raises GatewayRefusal when it doesn't fit. A body alone always fits."""
        with self._lock:
            is_full = self._requests >= self._most_requests
            if is_full or (self._requests and self._body_bytes + body_bytes > self._most_body_bytes):
                message = "The site is answering as many requests as it can. Ask again in a moment."
                headers = {"Retry-After": str(RETRY_SECONDS)}
                raise refusal(503, message, "site_busy", kind="server_error", headers=headers)
            self._requests += 1
            self._body_bytes += body_bytes

    def leave(self, body_bytes: int) -> None:
        """Let a request of that size out."""
        with self._lock:
            self._requests -= 1
            self._body_bytes -= body_bytes


PROCESS_ROOM: Final = Room()
