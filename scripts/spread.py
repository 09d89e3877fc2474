"""Measured times as a median and the range most of them lie in."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Of `count` measurements, in milliseconds: nineteen in twenty lie under p95_ms, one in twenty under p5_ms."""

    count: int
    median_ms: float
    p5_ms: float
    p95_ms: float
    max_ms: float

    @classmethod
    def of(cls, taken_ms: Sequence[float]) -> Spread:
        """The spread of at least one measurement."""
        ordered = sorted(taken_ms)
        last = len(ordered) - 1
        return cls(
            count=len(ordered),
            median_ms=statistics.median(ordered),
            p5_ms=ordered[round(last * 0.05)],
            p95_ms=ordered[round(last * 0.95)],
            max_ms=ordered[-1],
        )

    def __str__(self) -> str:
        return f"{self.median_ms:8.2f} ms ({self.p5_ms:.2f} to {self.p95_ms:.2f})"


def milliseconds(action: Callable[[], object]) -> float:
    """How long `action` takes."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1_000
