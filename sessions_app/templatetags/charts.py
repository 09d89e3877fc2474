"""Template words of charts: places of ticks and labels in pixels."""

from __future__ import annotations

from django import template

from sessions_app.pages.occupancy import Tick

register = template.Library()

PLOT_HEIGHT = 112
HALF_LINE = 4
LABEL_GAP = 5


@register.filter
def baseline(tick: Tick) -> float:
    """The baseline of a tick's number, centred on its line."""
    return round(tick.down_pct * PLOT_HEIGHT / 100 + HALF_LINE, 1)


@register.filter
def above(tick: Tick) -> float:
    """The baseline of a label that stands on a tick's line."""
    return round(tick.down_pct * PLOT_HEIGHT / 100 - LABEL_GAP, 1)
