"""The sessions before and behind the one a page shows: for the links in the head of every tab, and for [ and ]."""

from __future__ import annotations

from typing import Any

from django import template

from sessions_app.access import visible_sessions
from sessions_app.models import Session
from sessions_app.pages.neighbours import Neighbours, read_neighbours

register = template.Library()


@register.simple_tag(takes_context=True)
def neighbours_of(context: dict[str, Any], session: Session) -> Neighbours:
    """The neighbours among the sessions that the reader may see."""
    return read_neighbours(visible_sessions(context["request"].user), session)
