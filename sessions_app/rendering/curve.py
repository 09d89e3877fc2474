"""Occupancy as a line: a list of shares of the threshold becomes path data in a box of 1,000 by 100.

Unknown is a gap: the line stops before it and starts again after it, nothing is joined and nothing is zero. The box is
stretched by the page, so that one drawing serves every width; text and marks are placed in per cent of the width and
keep their size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

BOX_WIDTH = 1_000
BOX_HEIGHT = 100
SPARK_TOP_PCT = 110.0
HOT_PCT = 90.0
MAX_POINTS = 400


@dataclass(frozen=True, slots=True)
class Point:
    """Occupancy in per cent of the threshold at an event; None when it is not known."""

    seq: int
    pct: float | None


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of the axis where occupancy is unknown, in per cent of the width."""

    left_pct: float
    width_pct: float

    @property
    def middle_pct(self) -> float:
        return round(self.left_pct + self.width_pct / 2, 2)


@dataclass(frozen=True, slots=True)
class Curve:
    """The line of a session. top_pct is the occupancy at the upper edge of the box."""

    path: str
    gaps: tuple[Gap, ...]
    first_seq: int
    last_seq: int
    last_pct: float | None
    top_pct: float

    @property
    def last_down_pct(self) -> float | None:
        """Where the curve ends, in per cent of the height from the top; None where occupancy is unknown."""
        return None if self.last_pct is None else self.down_pct(self.last_pct)

    def left_pct(self, seq: int) -> float:
        """Where an event lies, in per cent of the width."""
        span = self.last_seq - self.first_seq
        return round(100 * (seq - self.first_seq) / span, 2) if span else 100.0

    def down_pct(self, pct: float) -> float:
        """Where an occupancy lies, in per cent of the height from the top."""
        return round(100 * (1 - min(pct, self.top_pct) / self.top_pct), 2)


def draw_curve(points: Sequence[Point], top_pct: float | None = None) -> Curve:
    """The curve through `points`, which are in order of seq. Without `top_pct` the highest point sets the scale."""
    known = [point.pct for point in points if point.pct is not None]
    top = top_pct or max(10.0, 1.15 * max(known, default=0.0))
    first, last = (points[0].seq, points[-1].seq) if points else (0, 0)
    curve = Curve("", (), first, last, points[-1].pct if points else None, top)
    return Curve(path_of(points, curve), tuple(gaps_of(points, curve)), first, last, curve.last_pct, top)


def path_of(points: Sequence[Point], scale: Curve) -> str:
    """One `M … L …` for each stretch of known points; a point alone becomes a dot of the line's own width."""
    stretches: list[str] = []
    for is_known, group in groupby(points, key=lambda point: point.pct is not None):
        if is_known:
            places = [place_of(point, scale) for point in group]
            stretches.append("M" + "L".join(places if len(places) > 1 else places * 2))
    return "".join(stretches)


def place_of(point: Point, scale: Curve) -> str:
    x = scale.left_pct(point.seq) * BOX_WIDTH / 100
    y = scale.down_pct(point.pct or 0.0) * BOX_HEIGHT / 100
    return f"{x:.1f} {y:.1f}"


def gaps_of(points: Sequence[Point], scale: Curve) -> Iterator[Gap]:
    """From the last known point before to the first known one after."""
    for is_known, group in groupby(enumerate(points), key=lambda item: item[1].pct is not None):
        if is_known:
            continue
        indexes = [index for index, _ in group]
        left = scale.left_pct(points[max(indexes[0] - 1, 0)].seq)
        right = scale.left_pct(points[min(indexes[-1] + 1, len(points) - 1)].seq)
        yield Gap(left, round(max(right - left, 0.5), 2))


def thin_out(points: Sequence[Point], most: int = MAX_POINTS) -> tuple[Point, ...]:
    """About `most` points at most. Of each bucket the first, lowest, highest and last stay, and all unknown ones."""
    if len(points) <= most:
        return tuple(points)
    size = -(-len(points) * 4 // most)
    kept: list[Point] = []
    for start in range(0, len(points), size):
        kept.extend(extremes_of(points[start : start + size]))
    return tuple(kept)


def extremes_of(bucket: Sequence[Point]) -> list[Point]:
    known = [point for point in bucket if point.pct is not None]
    chosen = {bucket[0].seq: bucket[0], bucket[-1].seq: bucket[-1]}
    chosen.update({point.seq: point for point in bucket if point.pct is None and len(known) < len(bucket)})
    if known:
        for extreme in (min(known, key=lambda point: point.pct or 0), max(known, key=lambda point: point.pct or 0)):
            chosen[extreme.seq] = extreme
    return [chosen[seq] for seq in sorted(chosen)]


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A curve of 72 by 24 pixels on the scale all sparklines share; end_y is None when the last point is unknown."""

    path: str
    end_y: float | None
    is_hot: bool


def draw_sparkline(shares_pct: Sequence[float | None]) -> Sparkline | None:
    """The sparkline of a session, or None when nothing of it is known."""
    known = [share for share in shares_pct if share is not None]
    if not known:
        return None
    step = 72 / max(len(shares_pct) - 1, 1)
    stretches: list[str] = []
    for is_known, group in groupby(enumerate(shares_pct), key=lambda item: item[1] is not None):
        if is_known:
            places = [f"{index * step:.1f} {spark_y(share or 0.0):.1f}" for index, share in group]
            stretches.append("M" + "L".join(places if len(places) > 1 else places * 2))
    last = shares_pct[-1]
    return Sparkline("".join(stretches), None if last is None else spark_y(last), max(known) >= HOT_PCT)


def spark_y(share_pct: float) -> float:
    """100 % lies 3 pixels under the top, 0 % one above the bottom."""
    return round(23 - min(share_pct, SPARK_TOP_PCT) * 0.2, 1)
