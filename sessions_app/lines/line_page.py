"""The page that lines of a transcript are written for.

Lines are written without a template of their own: a page has dozens, and looking up names and walking nodes would be
most of what a long transcript costs. What few lines have is left to templates, the pieces.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.utils.safestring import SafeString

from sessions_app.lines.pieces import piece_html
from sessions_app.templatetags.site import can_write


class LinePage:
    """What lines need to know of their page. context: of the template that holds them, with the session in it."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.public_id: str = context["session"].public_id

    @cached_property
    def may_write(self) -> bool:
        """Whether the reader may change the session."""
        return can_write(self._context, self._context["session"].project)

    def piece(self, name: str, **values: object) -> SafeString:
        """A part of a line that is written by a template, which sees what the page sees and `values`."""
        return piece_html(self._context, f"session/{name}.html", **values)
