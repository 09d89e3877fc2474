"""What stands beside the rows of a session: the occupancy chart, and the newest passes."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import CompactionPass, Session
from sessions_app.pages.occupancy import OccupancyChart, read_small_chart
from sessions_app.pages.pass_places import light_passes

LISTED_PASSES = 12
# As many marks as find room side by side in the narrow chart.
MARKED_PASSES = 36


@dataclass(frozen=True, slots=True)
class SessionSide:
    """passes: the newest ones, newest first. marked_passes: how many the chart marks; unmarked_passes: the others."""

    chart: OccupancyChart
    passes: tuple[CompactionPass, ...]
    marked_passes: int
    unmarked_passes: int


def read_side(session: Session) -> SessionSide:
    """The column as the session is now."""
    newest = list(light_passes(session.pk).order_by("-number")[:MARKED_PASSES]) if session.passes_total else []
    return SessionSide(
        chart=read_small_chart(session, newest[::-1]),
        passes=tuple(newest[:LISTED_PASSES]),
        marked_passes=len(newest),
        unmarked_passes=max(session.passes_total - len(newest), 0),
    )
