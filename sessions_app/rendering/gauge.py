"""The occupancy gauge: which part of the window the head, the summary, the middle and the tail take.

The bar is as long as the window, or the threshold, or what is there, whichever is known and greatest. Places are in
per cent of its length.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Zone(StrEnum):
    """The parts of a model view, in their order."""

    OVERHEAD = "overhead"
    HEAD = "head"
    SUMMARY = "sum"
    MIDDLE = "mid"
    TAIL = "tail"


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of the bar."""

    zone: Zone
    tokens: int
    left_pct: float
    width_pct: float


@dataclass(frozen=True, slots=True)
class Gauge:
    """The whole bar; threshold_pct is its mark, None when the threshold is unknown."""

    segments: tuple[Segment, ...]
    used_tokens: int
    threshold_tokens: int | None
    window_tokens: int | None
    threshold_pct: float | None
    occupancy_pct: float | None


def draw_gauge(
    zone_tokens: tuple[tuple[Zone, int], ...],
    threshold_tokens: int | None,
    window_tokens: int | None,
    occupancy_pct: float | None,
) -> Gauge:
    """The gauge for tokens by zone; zones without tokens are left out."""
    used = sum(tokens for _, tokens in zone_tokens)
    length = max(used, threshold_tokens or 0, window_tokens or 0, 1)
    segments: list[Segment] = []
    before = 0
    for zone, tokens in zone_tokens:
        if tokens:
            segments.append(Segment(zone, tokens, share(before, length), share(tokens, length)))
        before += tokens
    mark = share(threshold_tokens, length) if threshold_tokens else None
    return Gauge(tuple(segments), used, threshold_tokens, window_tokens, mark, occupancy_pct)


def share(tokens: int, length: int) -> float:
    return round(100 * tokens / length, 3)
