"""The marks of a rail as SVG, each a link to its pass. A rail has up to a hundred of them, so none has a template."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from sessions_app.rendering.rail import Mark

_MARK: Final = (
    '<a href="{0}"{1}><title>{2}</title>{3}<svg x="{4}%" y="{5}" overflow="visible">'
    '<rect class="hit" x="-6" y="-6" width="12" height="22"/>'
    '<svg x="-5" y="-5" width="10" height="10" class="mk mk-{6}{7}"><use href="#i-{6}"/></svg>{8}</svg></a>'
)
_CURRENT: Final = SafeString(' aria-current="true"')
# From where a pass happened down to where its mark found room.
_LEADER: Final = '<line class="leader" x1="{}%" y1="{}" x2="{}%" y2="{}"/>'
_LEADER_FROM, _LEADER_TO = -8, -2
_LABEL: Final = '<text class="tick{}{}" x="0" y="18" text-anchor="middle">{}</text>'


def rail_html(marks: Iterable[Mark], top: int, is_numbered: bool) -> SafeString:
    """The marks. top: of the rail in the drawing, in pixels; is_numbered: marks with room for it show their number."""
    return format_html_join("", "{}", ((_mark_html(mark, top, is_numbered),) for mark in marks))


def _mark_html(mark: Mark, top: int, is_numbered: bool) -> SafeString:
    return format_html(
        _MARK,
        mark.href,
        _CURRENT if mark.is_current else "",
        mark.words,
        _leader_html(mark, top) if mark.is_moved else "",
        mark.shown_pct,
        top,
        mark.icon,
        " mk-bad" if mark.is_failed else " mk-now" if mark.is_current else "",
        _label_html(mark) if is_numbered and mark.has_label else "",
    )


def _leader_html(mark: Mark, top: int) -> SafeString:
    return format_html(_LEADER, mark.place_pct, top + _LEADER_FROM, mark.shown_pct, top + _LEADER_TO)


def _label_html(mark: Mark) -> SafeString:
    return format_html(
        _LABEL, " acc" if mark.is_current else "", "" if mark.has_narrow_label else " wide-label", mark.number
    )
