"""Whether to ask again, and when.

Waits grow with each attempt and are spread by chance, so that many callers who failed together don't come back
together. An endpoint that says when to come back is taken at its word.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

_FINAL_SERVER_ERRORS: Final = frozenset({501, 505})


@dataclass(frozen=True, slots=True)
class RetryRules:
    """How often to ask in all, and how long to wait before asking again.

    repeats_answered: whether a question is put again that was answered with an error; off where whoever asked decides.
    """

    most_attempts: int = 3
    first_wait_seconds: float = 0.5
    longest_wait_seconds: float = 20.0
    repeats_answered: bool = True


def is_retryable(status: int) -> bool:
    """Whether an answer with this status may be different next time: 408, 429, and server errors that can pass."""
    return status in (408, 429) or (500 <= status <= 599 and status not in _FINAL_SERVER_ERRORS)


def wait_seconds(rules: RetryRules, attempt: int, retry_after_seconds: float | None, chance: float) -> float:
    """How long to wait after failed attempt number `attempt`, from 1. `chance` is from 0 to 1.

    A wait the endpoint asked for is never shortened, and lengthened by up to the first wait.
    """
    if retry_after_seconds is not None:
        return retry_after_seconds + rules.first_wait_seconds * chance
    longest = min(rules.longest_wait_seconds, rules.first_wait_seconds * 2.0 ** (attempt - 1))
    return longest * (0.5 + chance / 2)


def retry_after_seconds(headers: Mapping[str, str], now_epoch_seconds: float) -> float | None:
    """What `retry-after-ms` or `retry-after` (seconds or an HTTP date) ask for; None when there is nothing usable."""
    if (milliseconds := _seconds(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1_000
    written = headers.get("retry-after", "")
    if (seconds := _seconds(written)) is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(written)
        at = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, at.timestamp() - now_epoch_seconds)
    except (ValueError, TypeError, OverflowError):
        return None


def _seconds(written: str | None) -> float | None:
    try:
        seconds = float(written or "")
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
