"""Gates: what all callers of one endpoint share in this process, its circuit breaker, its places, and how it wants to
be asked.

At most so many calls are under way at one endpoint at a time; the others wait for a place. The number is the caller's,
so two settings for one endpoint can live beside each other: each waits until fewer than its own number are busy.
"""

from __future__ import annotations

from threading import Condition, Lock

from compaction.endpoints.breaker import BreakerRules, CircuitBreaker
from compaction.endpoints.chat_request import RequestShape


class Gate:
    """The gate of one endpoint. shapes: by model, the shape in which a question was last answered."""

    def __init__(self, rules: BreakerRules | None = None) -> None:
        self.breaker = CircuitBreaker(rules)
        self.shapes: dict[str, RequestShape] = {}
        self._freed = Condition()
        self._busy = 0

    @property
    def busy(self) -> int:
        """Calls under way."""
        return self._busy

    def enter(self, most: int, wait_seconds: float) -> bool:
        """Take a place among `most`, waiting for one; False when none was free in time."""
        with self._freed:
            if not self._freed.wait_for(lambda: self._busy < most, timeout=max(0.0, wait_seconds)):
                return False
            self._busy += 1
            return True

    def leave(self) -> None:
        """Give the place back."""
        with self._freed:
            self._busy -= 1
            self._freed.notify_all()


class Gates:
    """The gates of all endpoints, by key."""

    def __init__(self, rules: BreakerRules | None = None) -> None:
        self._rules = rules
        self._lock = Lock()
        self._gates: dict[str, Gate] = {}

    def gate_of(self, key: str) -> Gate:
        """The gate for `key`, made when it is first asked for."""
        with self._lock:
            return self._gates.setdefault(key, Gate(self._rules))

    def forget(self) -> None:
        """Forget everything: all breakers are closed again."""
        with self._lock:
            self._gates.clear()


# What this process knows of its endpoints. A worker that starts begins with closed breakers.
PROCESS_GATES = Gates()
