"""The lines of a transcript, each written by one tag."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.safestring import SafeString

from sessions_app.lines.group_lines import group_html
from sessions_app.lines.line_page import LinePage
from sessions_app.lines.row_lines import item_html, row_html
from sessions_app.pages.flow import GroupItem, RowItem
from sessions_app.pages.row_view import RowView

register = template.Library()


@register.simple_tag(takes_context=True)
def row_line(context: Any, view: RowView) -> SafeString:
    """A row among others of its group."""
    return row_html(LinePage(context), view)


@register.simple_tag(takes_context=True)
def item_line(context: Any, item: RowItem | GroupItem) -> SafeString:
    """A row, or a group of archived rows."""
    page = LinePage(context)
    return group_html(page, item) if isinstance(item, GroupItem) else item_html(page, item)
