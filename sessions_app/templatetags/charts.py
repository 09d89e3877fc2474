"""Template words of charts: places of ticks."""

from __future__ import annotations

from django import template

from sessions_app.rendering.curve import Curve

register = template.Library()

PLOT_HEIGHT = 112
HALF_LINE = 4
LABEL_GAP = 5


@register.filter
def split(text: str) -> list[str]:
    """Words of a text."""
    return text.split()


@register.filter
def down(curve: Curve, pct: str) -> float:
    """Where an occupancy lies, in per cent of the height."""
    return curve.down_pct(float(pct))


@register.filter
def tick_y(curve: Curve, pct: str) -> float:
    """The baseline of a tick's label, in pixels."""
    return round(curve.down_pct(float(pct)) * PLOT_HEIGHT / 100 + HALF_LINE, 1)


@register.filter
def above(curve: Curve, pct: str) -> float:
    """The baseline of a label that stands on the line of an occupancy, in pixels."""
    return round(curve.down_pct(float(pct)) * PLOT_HEIGHT / 100 - LABEL_GAP, 1)
