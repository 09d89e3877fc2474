"""Parts of a line that are written by a template, because few lines have them."""

from __future__ import annotations

from typing import Any

from django.utils.safestring import SafeString


def piece_html(context: Any, name: str, **values: object) -> SafeString:
    """What the template `name` makes of what the page around the line sees, and of `values`."""
    template = context.template.engine.get_template(name)
    with context.push(**values):
        written: SafeString = template.render(context)
    return written
