"""Time and chance as the endpoints' code uses them, given from outside so that tests need not wait."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """monotonic: seconds of a clock that never goes back. epoch: seconds since 1970, for dates in headers.
    sleep: wait so many seconds. chance: a number from 0 to 1."""

    monotonic: Callable[[], float] = time.monotonic
    epoch: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Seconds one question may take: to connect (the name's resolution included), between two pieces of the answer,
    and in all, with every attempt, every wait and the queue."""

    connect_seconds: float = 10.0
    read_seconds: float = 120.0
    total_seconds: float = 120.0


class Deadline:
    """The end of the time one question has."""

    def __init__(self, limit_seconds: float, timing: Timing) -> None:
        self.limit_seconds = limit_seconds
        self._timing = timing
        self._begin = timing.monotonic()

    @property
    def left_seconds(self) -> float:
        """What is left; negative when it is over."""
        return self.limit_seconds - self.elapsed_seconds

    @property
    def elapsed_seconds(self) -> float:
        """What has passed since the question was put."""
        return self._timing.monotonic() - self._begin

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.left_seconds <= 0
