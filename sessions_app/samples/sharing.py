"""Sharing a phase's tokens out among its turns.

Every turn asks for its weight's share, but none can be shorter than its words or longer than its sources. The level is
set so that all turns together come out right; it is found by halving, as water finds its level in vessels of
different height.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

# The most one turn may take, whatever its weight: a session is read turn by turn.
MOST_TOKENS: Final = 4_600
_HALVINGS: Final = 60


@dataclass(frozen=True, slots=True)
class Demand:
    """What a turn asks for: a weight, and the least and the most tokens it can take."""

    weight: float
    least: int
    most: int

    def at(self, level: float) -> float:
        """The turn's tokens when one unit of weight gets `level`."""
        return max(self.least, min(self.most, MOST_TOKENS, level * self.weight))


def share_out(total_tokens: int, demands: Sequence[Demand]) -> tuple[float, ...]:
    """Tokens for each demand, `total_tokens` together if the demands can take so many and need no more."""
    low, high = 0.0, float(MOST_TOKENS) / min(demand.weight for demand in demands)
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        if sum(demand.at(level) for demand in demands) < total_tokens:
            low = level
        else:
            high = level
    return tuple(demand.at(high) for demand in demands)
