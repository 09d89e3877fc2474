"""Template words of the settings pages. Formatting only."""

from __future__ import annotations

from django import template
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
def share_words(share: float) -> str:
    """A multiple of a price: 10 %, 125 %."""
    return f"{share * 100:g} %"
