"""What a feed has done so far, counted as it happens, and the report of it.

Not shared between threads: everything runs in one event loop. Latencies are of the attempt that was answered, without
the waiting before it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Figures:
    """Counts of one feed. rows_there: rows that the site had already. retries: by what went wrong, in a word.

    failed: one sentence for each session that was given up.
    """

    sessions: int = 0
    sessions_done: int = 0
    rows_added: int = 0
    rows_there: int = 0
    turns: int = 0
    append_seconds: list[float] = field(default_factory=list)
    retries: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    was_stopped: bool = False

    def appended(self, added: int, already_present: int, seconds: float) -> None:
        """Count an append that was answered."""
        self.rows_added += added
        self.rows_there += already_present
        self.append_seconds.append(seconds)


@dataclass(frozen=True, slots=True)
class FeedReport:
    """What came of a feed. Latencies are None when nothing was appended."""

    sessions: int
    sessions_done: int
    rows_added: int
    rows_there: int
    turns: int
    appends: int
    seconds: float
    appends_per_second: float
    p50_ms: float | None
    p95_ms: float | None
    retries: tuple[tuple[str, int], ...]
    failed: tuple[str, ...]
    was_stopped: bool


def report_of(figures: Figures, seconds: float) -> FeedReport:
    """The report after so many seconds."""
    rising_seconds = sorted(figures.append_seconds)
    appends = len(rising_seconds)
    return FeedReport(
        sessions=figures.sessions,
        sessions_done=figures.sessions_done,
        rows_added=figures.rows_added,
        rows_there=figures.rows_there,
        turns=figures.turns,
        appends=appends,
        seconds=round(seconds, 3),
        appends_per_second=round(appends / seconds, 1) if seconds else 0.0,
        p50_ms=percentile_ms(rising_seconds, 50),
        p95_ms=percentile_ms(rising_seconds, 95),
        retries=tuple(sorted(figures.retries.items())),
        failed=tuple(figures.failed),
        was_stopped=figures.was_stopped,
    )


def percentile_ms(rising_seconds: Sequence[float], percent: int) -> float | None:
    """The smallest of the sorted values that at least so many percent don't exceed, in milliseconds."""
    if not rising_seconds:
        return None
    rank = math.ceil(len(rising_seconds) * percent / 100)
    return round(rising_seconds[max(rank, 1) - 1] * 1_000, 1)
