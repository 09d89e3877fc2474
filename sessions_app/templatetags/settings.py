"""Template words of the settings pages. Formatting only."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

register = template.Library()


@register.filter
def scope_title(scope: str) -> str:
    """The head of a scope's column."""
    titles = {
        "default": gettext("Default"),
        "site": gettext("Site"),
        "project": gettext("Project"),
        "session": gettext("This session"),
    }
    return titles.get(scope, scope)


@register.filter
def in_words(text: str) -> SafeString:
    """What the engine says of a setting in the reader's language, with the keys in it, which stand between backticks,
    set as code."""
    parts = enumerate(unbroken(gettext(text)).split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if odd % 2 else part,) for odd, part in parts)
    )


@register.filter
def unbroken(text: str) -> str:
    """A number and its per cent sign, which stay in one line."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


@register.filter
def share_words(share: float) -> str:
    """A multiple of a price: 10 %, 125 %."""
    return f"{share * 100:g} %"
