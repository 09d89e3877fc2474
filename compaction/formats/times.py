"""Times in foreign records, as epoch seconds."""

from __future__ import annotations

from datetime import UTC, datetime

# Numbers beyond this are milliseconds: as seconds they would lie in the year 5138 or later.
_MILLISECONDS_FROM = 1e11


def epoch_seconds(value: object) -> float | None:
    """Epoch seconds of an ISO 8601 text or of a number of seconds or milliseconds; None when it is neither.

    A text without an offset is taken as UTC, so that the same file reads the same everywhere.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _seconds(float(value))
    if not isinstance(value, str):
        return None
    text = value.strip()
    try:
        return _seconds(float(text))
    except ValueError:
        return _from_iso(text)


def _seconds(number: float) -> float | None:
    seconds = number / 1000 if abs(number) >= _MILLISECONDS_FROM else number
    return seconds if 0 < seconds < _MILLISECONDS_FROM else None


def _from_iso(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return _seconds(moment.timestamp())
