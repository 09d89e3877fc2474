"""The steps of the recordings that are being played, kept for the jobs that follow.

What was appended to a session up to an event never changes, so what is kept is never stale. It is bounded by what it
holds: a recording of pictures is made anew for each job rather than kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final

from compaction.messages import Message, TextPart
from sessions_app.feeding.steps import AppendRows, Step

MOST_CHARS: Final = 16_000_000

Steps = tuple[Step, ...]


class KeptSteps:
    """The recordings that were asked for last, as many as fit. Safe to share between threads."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        self._most_chars = most_chars
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[Steps, int]] = OrderedDict()

    @property
    def chars(self) -> int:
        """How many characters are held."""
        with self._lock:
            return sum(chars for _, chars in self._kept.values())

    def get(self, key: Hashable, make: Callable[[], Steps]) -> Steps:
        """The steps of that name; made by `make`, and raising what it raises, when they are not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        steps = make()
        chars = sum(_chars_of(new.message) for step in steps if isinstance(step, AppendRows) for new in step.rows)
        with self._lock:
            self._kept[key] = (steps, chars)
            while self._kept and sum(held for _, held in self._kept.values()) > self._most_chars:
                self._kept.popitem(last=False)
        return steps

    def forget(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._kept.clear()


def _chars_of(message: Message) -> int:
    parts = message.content if isinstance(message.content, tuple) else ()
    texts = [message.content if isinstance(message.content, str) else "", message.reasoning or "", message.extras]
    texts += [part.text if isinstance(part, TextPart) else part.raw for part in parts]
    texts += [text for call in message.tool_calls for text in (call.arguments, call.extras)]
    return sum(map(len, texts))
