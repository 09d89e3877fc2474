"""The parts of a row that every row has, each written by one tag: a page has dozens of rows.

A template of its own for every attribute and link would be most of what a long transcript costs to write.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from django import template
from django.urls import get_script_prefix, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

from sessions_app.pages.flow import GroupItem, Key, RowItem
from sessions_app.pages.row_source import SourceRow
from sessions_app.pages.row_view import RowView
from sessions_app.templatetags.site import can_write, number

register = template.Library()

_PERMALINK: Final = '<a class="row-id" href="{}?row={}#{}" data-permalink title="{}">{}</a>'
_BRANCH: Final = '<a class="row-raw" href="{{1}}?seq={{2}}#branch" title="{}">{}</a>'
_FOOT: Final = (
    '<span class="row-tok"><span class="row-acts"><a class="row-raw" href="{{0}}" title="{}">{}</a>{}'
    '<button class="word row-raw" type="button" hidden data-copy-row data-copied="{}">{}</button></span>'
    "<span>{{3}}</span></span>"
)


@register.simple_tag
def item_place(item: RowItem | GroupItem) -> SafeString:
    """Where an item stands, for scripts: its position, its key and the key behind it."""
    end = item.last if isinstance(item, GroupItem) else item.end_key
    return format_html('data-position="{}" data-key="{}" data-end="{}"', item.key[0], joined(item.key), joined(end))


@register.simple_tag(takes_context=True)
def row_permalink(context: dict[str, Any], view: RowView) -> SafeString:
    """The row's number, which leads to the row."""
    page = session_address("session", context["session"].public_id, get_script_prefix())
    position = view.row.position
    return format_html(_PERMALINK, page, position, view.anchor, gettext("Permalink"), position)


@register.simple_tag(takes_context=True)
def row_foot(context: dict[str, Any], view: RowView) -> SafeString:
    """What can be done with a row, and what it costs."""
    public_id, prefix = context["session"].public_id, get_script_prefix()
    return format_html(
        _foot_in(get_language(), can_write(context, context["session"].project)),
        row_address("row_raw", public_id, view.row, prefix),
        session_address("actions", public_id, prefix),
        view.row.born_seq,
        number(view.tokens),
    )


@lru_cache(maxsize=16)
def _foot_in(language: str | None, may_branch: bool) -> str:
    """The foot with its words in the language that is active, and with fields for what differs from row to row."""
    whole = gettext("A new session that begins with what the model saw when this row had come")
    branch = format_html(_BRANCH, _plain(whole), _plain(gettext("branch"))) if may_branch else ""
    raw, copy = (gettext("The row as JSON"), gettext("raw")), (gettext("copied"), gettext("copy"))
    return format_html(_FOOT, *map(_plain, raw), branch, *map(_plain, copy))


def _plain(word: str) -> str:
    """A word in which nothing is taken for a field."""
    return word.replace("{", "{{").replace("}", "}}")


def joined(key: Key) -> str:
    """A key as addresses and scripts write it."""
    return f"{key[0]}-{key[1]}"


@lru_cache(maxsize=1_024)
def session_address(name: str, public_id: str, prefix: str) -> str:
    """A page of a session. prefix: the script's, so that an address is not remembered for another one."""
    return reverse(name, args=[public_id])


def row_address(name: str, public_id: str, row: SourceRow, prefix: str) -> str:
    """A page of a row."""
    before, behind = _around_row(name, public_id, prefix)
    return f"{before}{row.id}{behind}"


@lru_cache(maxsize=1_024)
def _around_row(name: str, public_id: str, prefix: str) -> tuple[str, str]:
    """What stands in front of and behind the row's id in an address; the id is the last part that is a number."""
    before, _, behind = reverse(name, args=[public_id, 0]).rpartition("/0/")
    return f"{before}/", f"/{behind}"
