"""A circuit breaker: after several failures in a row an endpoint is left alone for a while.

    closed --- failures in a row ---> open --- cool-down over ---> half-open --- the probe succeeds ---> closed
                                       ^                               |
                                       +------ the probe fails (the next cool-down is twice as long) ---+

While it is half-open exactly one call goes through, the probe. Calls that were let in before the breaker opened and
end later change nothing any more. Time is given in seconds of a clock that never goes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from threading import Lock


class BreakerState(StrEnum):
    """Where the breaker stands."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerRules:
    """When to open, and for how long; the cool-down doubles up to the longest while probes fail."""

    failures_to_open: int = 5
    cool_down_seconds: float = 30.0
    longest_cool_down_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to make one call; give it back with `succeeded`, `failed` or `abandoned`."""

    era: int
    is_probe: bool


class CircuitBreaker:
    """The breaker of one endpoint; safe to share between threads."""

    def __init__(self, rules: BreakerRules | None = None) -> None:
        self._rules = rules or BreakerRules()
        self._lock = Lock()
        self._failures = 0
        self._opened = 0
        self._open_until: float | None = None
        self._is_probed = False
        self._era = 0
        self.last_reason = ""

    def state(self, now_seconds: float) -> BreakerState:
        """The state as a call would find it at `now_seconds`."""
        if self._open_until is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if now_seconds < self._open_until else BreakerState.HALF_OPEN

    def seconds_left(self, now_seconds: float) -> float:
        """How long the endpoint is still left alone."""
        return 0.0 if self._open_until is None else max(0.0, self._open_until - now_seconds)

    def admit(self, now_seconds: float) -> Permit | None:
        """Leave to call, or None while the breaker is open or its probe is under way."""
        with self._lock:
            match self.state(now_seconds):
                case BreakerState.CLOSED:
                    return Permit(self._era, is_probe=False)
                case BreakerState.HALF_OPEN if not self._is_probed:
                    self._is_probed = True
                    return Permit(self._era, is_probe=True)
        return None

    def succeeded(self, permit: Permit) -> None:
        """The endpoint answered: the breaker is closed."""
        with self._lock:
            if permit.era != self._era:
                return
            self._failures = self._opened = 0
            if permit.is_probe:
                self._open_until, self._is_probed = None, False
                self._era += 1

    def failed(self, permit: Permit, now_seconds: float, reason: str) -> None:
        """The endpoint failed, for `reason`."""
        with self._lock:
            if permit.era != self._era:
                return
            self.last_reason = reason
            self._failures += 1
            if permit.is_probe or self._failures >= self._rules.failures_to_open:
                self._open(now_seconds)

    def abandoned(self, permit: Permit) -> None:
        """The call ended without saying anything about the endpoint."""
        with self._lock:
            if permit.era == self._era and permit.is_probe:
                self._is_probed = False

    def _open(self, now_seconds: float) -> None:
        cool_down = self._rules.cool_down_seconds * 2**self._opened
        self._open_until = now_seconds + min(cool_down, self._rules.longest_cool_down_seconds)
        self._opened = min(self._opened + 1, 30)
        self._is_probed = False
        self._era += 1
