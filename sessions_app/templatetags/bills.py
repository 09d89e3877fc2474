"""Template words of the cache tab: widths of strips, bills, break-even."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext, ngettext

from compaction.cache_strips import PassStrips
from compaction.economics import BreakEven, Verdict
from sessions_app.templatetags.site import DASH, number

register = template.Library()


@register.filter
def share_of(tokens: int, whole: int) -> float:
    """A width in per cent of a whole."""
    return round(100 * tokens / whole, 2) if whole else 0.0


@register.filter
def widest(strips: PassStrips) -> int:
    """The size all three strips of a pass are drawn against."""
    return max(strips.before.sent_tokens, strips.after.sent_tokens)


@register.filter
def plain_factor(value: float) -> str:
    """A price factor without needless zeros: 1.25, 0.1, 1."""
    return f"{value:g}"


@register.filter
def in_minutes(seconds: float) -> str:
    """Seconds as minutes without needless zeros."""
    return f"{seconds / 60:g}"


@register.filter
def break_even_words(found: BreakEven) -> str:
    """After how many calls; never and unknown in words."""
    if found.verdict is Verdict.NEVER:
        return gettext("never")
    if found.verdict is Verdict.UNKNOWN or found.calls is None:
        return gettext("unknown")
    if not found.calls:
        return gettext("at once")
    return ngettext("{calls} call", "{calls} calls", found.calls).format(calls=number(found.calls))


@register.filter
def full_tokens(value: float | None) -> str:
    """Full-price tokens as a whole number; None is the word."""
    return gettext("unknown") if value is None else number(round(value))


@register.filter
def dollars(value: float | None) -> str:
    """Money with as many places as a small amount needs; None is a dash."""
    if value is None:
        return DASH
    return f"${value:,.2f}" if abs(value) >= 1 else f"${value:.4f}"
