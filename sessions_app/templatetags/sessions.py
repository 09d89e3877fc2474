"""The lines of lists of sessions, each written by one tag."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.safestring import SafeString

from sessions_app.lines.session_lines import session_line_html
from sessions_app.pages.session_list import SessionLine

register = template.Library()


@register.simple_tag(takes_context=True)
def session_line(context: Any, line: SessionLine) -> SafeString:
    """A session with its figures."""
    return session_line_html(context, line)
