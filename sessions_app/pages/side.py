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
    """passes: the newest ones, newest first."""

    chart: OccupancyChart
    passes: tuple[CompactionPass, ...]


def read_side(session: Session) -> SessionSide:
    """The column as the session is now."""
    newest = list(light_passes(session.pk).order_by("-number")[:MARKED_PASSES]) if session.passes_total else []
    return SessionSide(read_small_chart(session, newest[::-1]), tuple(newest[:LISTED_PASSES]))
