"""The reader's theme: one of three words in a cookie of this browser. Nothing about it is stored on the server."""

from __future__ import annotations

from enum import StrEnum

from django.http import HttpRequest

COOKIE_NAME = "hermes_sessions_theme"
COOKIE_MAX_AGE_SECONDS = 400 * 24 * 3600  # the longest that browsers keep


class Theme(StrEnum):
    """AUTO follows the system."""

    AUTO = "auto"
    LIGHT = "light"
    DARK = "dark"


def theme_of(request: HttpRequest | None) -> Theme:
    """The theme in the request's cookie; anything unknown means AUTO."""
    word = request.COOKIES.get(COOKIE_NAME, "") if request is not None else ""
    return Theme(word) if word in tuple(Theme) else Theme.AUTO


def next_theme_after(theme: Theme | str) -> Theme:
    """The switch goes round: auto, light, dark, auto."""
    themes = tuple(Theme)
    return themes[(themes.index(Theme(theme)) + 1) % len(themes)]
