"""The sizes of a summary's versions as dots on a line, with the threshold of a defrag and a scale.

Places are in per cent of the width and the height; the line is path data in a box of 1,000 by 100. A version whose
size is unknown is a gap: the line stops before it and starts again after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log10

HEADROOM = 1.15
MOST_LABELS = 7


@dataclass(frozen=True, slots=True)
class Size:
    """One version. tokens: None when the source did not tell them."""

    number: int
    tokens: int | None
    is_defrag: bool


@dataclass(frozen=True, slots=True)
class Dot:
    """A version of known size."""

    number: int
    left_pct: float
    down_pct: float
    is_defrag: bool
    has_label: bool


@dataclass(frozen=True, slots=True)
class SizeTick:
    """A line of the scale."""

    tokens: int
    down_pct: float


@dataclass(frozen=True, slots=True)
class SizeChart:
    """What the chart draws. defrag_down_pct: None where no defrag threshold is set."""

    dots: tuple[Dot, ...]
    path: str
    ticks: tuple[SizeTick, ...]
    defrag_down_pct: float | None


def draw_sizes(sizes: Sequence[Size], defrag_tokens: int | None) -> SizeChart | None:
    """The chart of versions in order; None when no size is known."""
    known = [size.tokens for size in sizes if size.tokens is not None]
    if not known:
        return None
    top = HEADROOM * max(*known, defrag_tokens or 0, 1)
    places = [dot_of(size, index, len(sizes), top) for index, size in enumerate(sizes)]
    return SizeChart(
        dots=tuple(dot for dot in places if dot is not None),
        path="".join(stretches_of(places)),
        ticks=tuple(SizeTick(tokens, down(tokens, top)) for tokens in (0, round_half(top))),
        defrag_down_pct=None if defrag_tokens is None else down(defrag_tokens, top),
    )


def dot_of(size: Size, index: int, count: int, top: float) -> Dot | None:
    if size.tokens is None:
        return None
    left = round(100 * index / max(count - 1, 1), 2)
    has_label = index % max(1, count // MOST_LABELS) == 0
    return Dot(size.number, left, down(size.tokens, top), size.is_defrag, has_label)


def stretches_of(places: Sequence[Dot | None]) -> Iterator[str]:
    """One `M … L …` for each stretch of known sizes."""
    for is_known, group in groupby(places, key=lambda dot: dot is not None):
        if is_known:
            yield "M" + "L".join(f"{dot.left_pct * 10:.1f} {dot.down_pct:.1f}" for dot in group if dot is not None)


def down(tokens: int, top: float) -> float:
    return round(100 * (1 - tokens / top), 2)


def round_half(top: float) -> int:
    """The largest of 1, 2, 5, 10, 20 … that is at most half the height."""
    unit = 10 ** int(log10(max(top / 2, 1)))
    return max(int(factor * unit) for factor in (1, 2, 5) if factor * unit <= max(top / 2, 1))
