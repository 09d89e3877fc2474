"""Where the rows that a foreign pass inserted belong in the order of their session.

Must not query. Positions are whole numbers and live rows own theirs; a summary takes one that its pass set free. A
source names the row it stands in front of, or leaves it to the first row it replaced.
"""

from __future__ import annotations

from collections.abc import Sequence


def places_in_gap(freed: Sequence[int], below: int | None, above: int, wanted: int) -> list[int] | None:
    """`wanted` rising positions between two neighbouring live rows, those set free by the pass first.

    freed: positions that the pass set free, rising. below, above: positions of the live rows around the gap (below
    None: nothing lives in front of it). None when the gap is too small.
    """
    inside = [position for position in freed if (below is None or position > below) and position < above]
    if len(inside) >= wanted:
        return inside[:wanted]
    if below is None or above - below - 1 >= wanted:
        return list(range(above - wanted, above))
    return None


def places_from(freed: Sequence[int], first: int, wanted: int) -> list[int] | None:
    """`wanted` rising positions that the pass set free, beginning with `first`; None when it freed too few."""
    inside = [position for position in freed if position >= first]
    return inside[:wanted] if len(inside) >= wanted else None
