"""How fast a recording is played: recorded pauses, divided by a rate.

Pure. Recordings hold nights and lunch breaks, so a pause is cut to a length; where the source told no times, a pause of
usual length stands in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from compaction.errors import InvalidInput

LONGEST_PAUSE_SECONDS: Final = 30.0
# What a model takes for a short answer: nobody has measured a recording without times.
UNKNOWN_PAUSE_SECONDS: Final = 2.0
FASTEST: Final = "max"


@dataclass(frozen=True, slots=True)
class Pace:
    """rate: how many times faster than recorded; infinity means without pauses. Pauses are cut before they are
    divided."""

    rate: float = 1.0
    longest_pause_seconds: float = LONGEST_PAUSE_SECONDS
    unknown_pause_seconds: float = UNKNOWN_PAUSE_SECONDS

    def wait_seconds(self, pause_seconds: float | None) -> float:
        """How long to wait where the recording paused for so long; None: for a time that nobody knows."""
        pause = self.unknown_pause_seconds if pause_seconds is None else pause_seconds
        return min(pause, self.longest_pause_seconds) / self.rate


def rate_named(text: str) -> float:
    """The rate that `text` says: a positive number; `max` or 0 for as fast as it goes. Raises InvalidInput."""
    if text == FASTEST:
        return math.inf
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if math.isnan(rate) or rate < 0:
        raise InvalidInput(f"a rate is a number from 0, or {FASTEST}, not {text!r}", "--rate")
    return rate or math.inf
