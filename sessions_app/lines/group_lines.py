"""A group of rows that a pass archived, or that were taken back, as HTML: one line until it is opened."""

from __future__ import annotations

from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from sessions_app.lines.line_page import LinePage
from sessions_app.lines.row_lines import key_text, place_html
from sessions_app.models import CompactionPass, PassKind
from sessions_app.pages.flow import GroupItem
from sessions_app.pages.pass_words import icon_of, kind_words
from sessions_app.pages.replay_steps import first_step
from sessions_app.punctuation import comma
from sessions_app.rendering.addresses import session_address, step_address
from sessions_app.templatetags.site import clock, icon, number

_GROUP: Final = (
    '<div class="item z-{}" id="group-{}-{}" {}>\n<details class="pass{}"{}{} data-item data-pass-item>\n'
    "<summary>{}{}</summary>\n{}</details>{}</div>"
)
_HEAD: Final = '{}<b>{}</b>{} {}<span class="end">{}</span>'
_KIND: Final = " <span>{}</span>"
_ANCHOR: Final = ' id="p{}"'
_LATER: Final = (
    '<div class="pass-rows" hx-get="{0}?{1}after={2}&amp;before={3}" hx-trigger="toggle from:closest details once" '
    'hx-swap="outerHTML">\n<p class="gap"><a href="?row={4}#r{4}">{5}</a></p>\n</div>'
)
_REPLAY: Final = '<a class="pass-replay" href="{}" aria-label="{}">{}</a>'


def group_html(page: LinePage, item: GroupItem) -> SafeString:
    """A group with its rows where they are loaded, else with the address they are loaded from when it is opened."""
    made_by = item.made_by
    return format_html(
        _GROUP,
        item.zone,
        made_by.number if made_by else "rewound",
        item.first[0],
        place_html(item),
        " pass-batch" if made_by and made_by.kind == PassKind.BATCH else "",
        format_html(_ANCHOR, made_by.number) if made_by else "",
        "" if item.rows is None else " open",
        icon("tri", "tri"),
        _taken_back(item) if made_by is None else _archived(item, made_by),
        _later_html(page, item) if item.rows is None else _rows_html(page, item),
        _replay_html(page, made_by) if made_by else "",
    )


def _archived(item: GroupItem, made_by: CompactionPass) -> SafeString:
    """The line of a group that a pass archived."""
    rows = ngettext("archived %(shown)s row", "archived %(shown)s rows", item.count) % {"shown": number(item.count)}
    kind = format_html(_KIND, kind_words(made_by)) if made_by.kind != PassKind.MICRO else ""
    end = format_html("{}{}{}", _tokens(item), comma(), clock(made_by.at)) if made_by.at else _tokens(item)
    return format_html(_HEAD, icon(icon_of(made_by)), _name(made_by), kind, rows, end)


def _taken_back(item: GroupItem) -> SafeString:
    """The line of a group that no pass archived."""
    words = ngettext("%(shown)s row taken back, no pass", "%(shown)s rows taken back, no pass", item.count)
    return format_html(
        _HEAD, icon("none"), gettext("Rewound"), "", words % {"shown": number(item.count)}, _tokens(item)
    )


def _name(made_by: CompactionPass) -> str:
    return gettext("Pass %(number)s") % {"number": made_by.number}


def _tokens(item: GroupItem) -> str:
    return gettext("%(tokens)s tokens") % {"tokens": number(item.tokens)}


def _later_html(page: LinePage, item: GroupItem) -> SafeString:
    """The place of rows that are not loaded, with a link for readers without scripts."""
    which = format_html("pass={}&amp;", item.made_by.number) if item.made_by else ""
    return format_html(
        _LATER,
        session_address("group_rows", page.public_id),
        which,
        key_text(item.first),
        key_text(item.last),
        item.first[0],
        gettext("show the rows"),
    )


def _rows_html(page: LinePage, item: GroupItem) -> SafeString:
    number_of_pass = item.made_by.number if item.made_by else None
    return page.piece(
        "_group_rows",
        rows=item.rows,
        superseded=item.superseded,
        rest=item.rest,
        earlier=item.earlier,
        number=number_of_pass,
    )


def _replay_html(page: LinePage, made_by: CompactionPass) -> SafeString:
    address = step_address(page.public_id, made_by.number, first_step(made_by))
    label = gettext("Replay pass %(number)s") % {"number": made_by.number}
    return format_html(_REPLAY, address, label, gettext("replay"))
