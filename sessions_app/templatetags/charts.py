"""Template words of charts: places of ticks and labels in pixels."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.safestring import SafeString

from sessions_app.pages.occupancy import Tick
from sessions_app.rendering.curve import Curve
from sessions_app.rendering.rail import Mark
from sessions_app.rendering.rail_marks import rail_html

register = template.Library()

PLOT_HEIGHT = 112
HALF_LINE = 4
LABEL_GAP = 5
# A label on the threshold's line takes so much room above it, and a figure so much below its point.
LABEL_ROOM = 18
FIGURE_DROP = 15


@register.filter
def baseline(tick: Tick) -> float:
    """The baseline of a tick's number, centred on its line."""
    return round(tick.down_pct * PLOT_HEIGHT / 100 + HALF_LINE, 1)


@register.filter
def above(tick: Tick) -> float:
    """The baseline of a label that stands on a tick's line."""
    return round(tick.down_pct * PLOT_HEIGHT / 100 - LABEL_GAP, 1)


@register.filter
def end_label(curve: Curve, ticks: Iterable[Tick]) -> float:
    """The baseline of the figure at the end of a curve: above it, or below it where the threshold's label stands."""
    end = (curve.last_down_pct or 0.0) * PLOT_HEIGHT / 100
    line = next((tick.down_pct for tick in ticks if tick.is_threshold), None)
    top = 0.0 if line is None else line * PLOT_HEIGHT / 100
    is_crowded = end < LABEL_ROOM if line is None else top - LABEL_ROOM < end < top + LABEL_ROOM
    return round(end + FIGURE_DROP if is_crowded else end - LABEL_GAP - 2, 1)


@register.filter
def has_mark(marks: Iterable[Mark], icon: str) -> bool:
    """Whether a rail has a mark of this kind, and a legend must say what it means."""
    return any(mark.icon == icon for mark in marks)


@register.simple_tag
def rail(marks: Iterable[Mark], top: int, *, numbered: bool = False) -> SafeString:
    """The marks of a rail at a height in the drawing."""
    return rail_html(marks, top, numbered)
