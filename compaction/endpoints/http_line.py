"""The line of one call: what somebody else holds who may want to end the call while it waits for the other side."""

from __future__ import annotations

from contextlib import suppress
from socket import SHUT_RDWR, socket
from threading import Lock
from typing import Any


class Line:
    """Cut it, and the call ends at once wherever it is: a read that waits is woken by the end of its connection.

    Safe to share between threads. A line that is cut before there is a connection lets none come up.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._socket: socket | None = None
        self._is_cut = False

    @property
    def is_cut(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self._is_cut

    def hold(self, connection: Any) -> None:
        """Note the connection that the call uses from now on."""
        with self._lock:
            self._socket = connection
            self._shut_if_cut()

    def cut(self) -> None:
        """End the call. Cutting twice changes nothing."""
        with self._lock:
            self._is_cut = True
            self._shut_if_cut()

    def _shut_if_cut(self) -> None:
        if self._is_cut and self._socket is not None:
            # It may have ended by itself. The plain shutdown also serves an encrypted line: nobody reads it any more.
            with suppress(OSError):
                socket.shutdown(self._socket, SHUT_RDWR)
