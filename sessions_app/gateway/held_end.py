"""The end of a stream, held back until the answer is stored.

A client that has read the end asks on at once, and its next request must find the answer. So everything is passed on as
it comes but the word with which a stream of chat completions ends.
"""

from __future__ import annotations

import re
from typing import Final

_END: Final = re.compile(rb"(?:^|(?<=\n))data: ?\[DONE\]")
_MARKS: Final = (b"data: [DONE]", b"data:[DONE]")


class HeldEnd:
    """Takes the pieces of a body and gives those that may be passed on; the rest is given when all is done."""

    def __init__(self) -> None:
        self._held = b""
        self._is_over = False
        self._is_line_start = True

    def pass_on(self, piece: bytes) -> bytes:
        """What of the body so far may be passed on now."""
        self._held += piece
        if self._is_over:
            return b""
        ready = self._held[: self._border()]
        self._held = self._held[len(ready) :]
        if ready:
            self._is_line_start = ready.endswith(b"\n")
        return ready

    def rest(self) -> bytes:
        """What was held back."""
        rest, self._held = self._held, b""
        return rest

    def _border(self) -> int:
        """Where the end begins, or a line that may become it."""
        offset = 0 if self._is_line_start else self._held.find(b"\n") + 1
        if not self._is_line_start and offset == 0:
            return len(self._held)
        if found := _END.search(self._held, offset):
            self._is_over = True
            return found.start()
        last_line = max(self._held.rfind(b"\n") + 1, offset)
        line = self._held[last_line:]
        return last_line if line and any(mark.startswith(line) for mark in _MARKS) else len(self._held)
