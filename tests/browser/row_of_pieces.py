"""Answers of a main model that come in pieces, one of which waits until it is let go."""

import threading

from tests.compaction.loopback import events

PATIENCE_SECONDS = 20


def piece(text, reason=None):
    return {"model": "big", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}


def words(text):
    """A whole answer at once."""
    return events(piece(text), piece("", "stop"), "[DONE]")


class Gate:
    """An answer that stands still between its two parts."""

    def __init__(self, first, second):
        self.may_go = threading.Event()
        self.answer = events(piece(first), self._stand, piece(second), piece("", "stop"), "[DONE]")

    def _stand(self):
        assert self.may_go.wait(PATIENCE_SECONDS)
