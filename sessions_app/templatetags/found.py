"""Template words of what a search found. Formatting only."""

from __future__ import annotations

from typing import Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from sessions_app.pages import found_rows

register = template.Library()
_QUOTES: Final = frozenset('"“”„«»「」')


@register.simple_tag
def hit_tag(hit: found_rows.HitRow) -> SafeString:
    """What became of the row: live, archived by which pass, or which version of the summary."""
    classes = " tag-summary" if hit.label == "summary" else " tag-archived" if hit.is_archived else ""
    return format_html('<span class="tag{}">{}</span>', classes, fate_words(hit))


def fate_words(hit: found_rows.HitRow) -> str:
    if hit.label == "summary":
        if hit.summary_number is None:
            return gettext("summary")
        words = gettext("summary v%(number)d, superseded") if hit.is_archived else gettext("summary v%(number)d")
        return words % {"number": hit.summary_number}
    if not hit.is_archived:
        return gettext("live")
    if hit.pass_number is None:
        return gettext("rewound")
    return gettext("archived, pass %(number)d") % {"number": hit.pass_number}


@register.simple_tag
def find_parameters(words: str, position: int | None = None) -> str:
    """The parameters that look for `words` in a session, at a row if one is given."""
    return found_rows.find_parameters(words, position)


@register.filter
def quoted(words: str) -> str:
    """What somebody looked for, in quotes unless it has some itself: those say how it was looked for."""
    return words if _QUOTES & set(words) else format_html(gettext('"{}"'), words)
