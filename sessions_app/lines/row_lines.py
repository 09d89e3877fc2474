"""A row of a transcript as HTML."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext

from sessions_app.lines.call_lines import calls_html
from sessions_app.lines.line_page import LinePage
from sessions_app.pages.flow import GroupItem, Key, RowItem
from sessions_app.pages.row_view import RowView
from sessions_app.rendering.addresses import row_address, session_address
from sessions_app.templatetags.site import number

_ITEM: Final = '<div class="item z-{}{}" id="item-{}" {}>\n{}{}</div>'
_PLACE: Final = 'data-position="{}" data-key="{}" data-end="{}"'
_ARTICLE: Final = (
    '<article class="row{0}{1}" id="{2}" tabindex="-1" data-item{3}>'
    '<a class="row-id" href="{4}?row={5}#{2}" data-permalink title="{6}">{5}</a>'
    '<span class="row-role">{7}</span>\n<div class="row-body">\n{8}</div>{9}</article>'
)
_TEXT: Final = '<div class="md">{}</div>\n'
_PLAIN_TEXT: Final = '<pre class="out">{}</pre>\n'
_NO_TEXT: Final = '<p class="dim">{}</p>\n'
_BRANCH: Final = '<a class="row-raw" href="{{1}}?seq={{2}}#branch" title="{}">{}</a>'
_FOOT: Final = (
    '<span class="row-tok"><span class="row-acts"><a class="row-raw" href="{{0}}" title="{}">{}</a>{}'
    '<button class="word row-raw" type="button" hidden data-copy-row data-copied="{}">{}</button></span>'
    "<span>{{3}}</span></span>"
)


def item_html(page: LinePage, item: RowItem) -> SafeString:
    """A row that stands in the line by itself."""
    label = page.piece("_next_label") if item.opens_next else ""
    row = row_html(page, item.view)
    return format_html(_ITEM, item.zone, item.next_classes, item.view.row.id, place_html(item), label, row)


def place_html(item: RowItem | GroupItem) -> SafeString:
    """Where an item stands, for scripts: its position, its key and the key behind it."""
    end = item.last if isinstance(item, GroupItem) else item.end_key
    return format_html(_PLACE, item.key[0], key_text(item.key), key_text(end))


def key_text(key: Key) -> str:
    """A key as addresses and scripts write it."""
    return f"{key[0]}-{key[1]}"


def row_html(page: LinePage, view: RowView) -> SafeString:
    """A row by itself or in a group."""
    return format_html(
        _ARTICLE,
        " row-user" if view.is_user else "",
        " row-stub" if view.is_stub else "",
        view.anchor,
        " data-user-item" if view.is_user else "",
        session_address("session", page.public_id),
        view.row.position,
        gettext("Permalink"),
        view.label,
        format_html_join("", "{}", ((piece,) for piece in _body(page, view))),
        _foot_html(page, view),
    )


def _body(page: LinePage, view: RowView) -> Iterator[SafeString]:
    """What stands in a row, from what is said of it down to the calls it makes."""
    row = view.row
    if view.has_tags:
        yield page.piece("_row_tags", view=view, row=row)
    if row.reasoning.chars:
        yield page.piece("_reasoning", row=row)
    if view.html:
        yield format_html(_TEXT, view.html)
    elif view.plain:
        yield format_html(_PLAIN_TEXT, view.plain)
    elif not (view.calls or view.pictures or row.reasoning.chars):
        yield format_html(_NO_TEXT, gettext("no text"))
    if view.more_chars:
        yield page.piece("_more_text", row=row, chars=view.more_chars)
    if view.pictures:
        yield page.piece("_pictures", pictures=view.pictures, row_id=row.id)
    if view.other_parts:
        yield page.piece("_other_parts", types=view.other_parts)
    if view.calls:
        yield calls_html(page, view.calls)


def _foot_html(page: LinePage, view: RowView) -> SafeString:
    """What can be done with a row, and what it costs."""
    return format_html(
        _foot_in(get_language(), page.may_write),
        row_address("row_raw", page.public_id, view.row.id),
        session_address("actions", page.public_id),
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
