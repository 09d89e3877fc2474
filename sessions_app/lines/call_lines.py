"""Tool calls with their results, as a row shows them."""

from __future__ import annotations

from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from sessions_app.lines.line_page import LinePage
from sessions_app.pages.row_view import CallView, ResultView
from sessions_app.rendering.addresses import row_address
from sessions_app.templatetags.site import icon, number

_CALLS: Final = '<ul class="calls">\n{}</ul>\n'
_CALL: Final = (
    '<li{}><details>\n<summary class="call"><span class="fn-cell">{} <span class="fn">{}</span></span>'
    '<span class="arg">{}</span><span class="res">{}</span>'
    "</summary>\n{}{}</details></li>"
)
_PLACE: Final = ' id="r{}"'
_ARGUMENTS: Final = '<pre class="out args">{}{}</pre>\n'
_NO_RESULT: Final = '<span class="bad">{}</span>'
_RESULT: Final = '<pre class="out">{}</pre>\n'
_LATER: Final = (
    '<div class="later" hx-get="{0}?part=result" hx-trigger="toggle from:closest details once" hx-swap="outerHTML">'
    '<a href="{0}">{1}</a>\n</div>\n'
)


def calls_html(page: LinePage, calls: tuple[CallView, ...]) -> SafeString:
    """The calls of a row, each with the result that was folded into it."""
    return format_html(_CALLS, format_html_join("", "{}", ((_call_html(page, one),) for one in calls)))


def _call_html(page: LinePage, call: CallView) -> SafeString:
    result = call.result
    return format_html(
        _CALL,
        "" if result is None else format_html(_PLACE, result.position),
        icon("tri", "tri"),
        call.name or "?",
        call.line,
        format_html(_NO_RESULT, gettext("no result")) if result is None else _size_words(result),
        format_html(_ARGUMENTS, call.arguments, "…" if call.is_cut else "") if call.arguments else "",
        "" if result is None else _result_html(page, result),
    )


def _size_words(result: ResultView) -> str:
    lines = result.row.lines
    words = ngettext("%(shown)s line, %(tokens)s tokens", "%(shown)s lines, %(tokens)s tokens", lines)
    return words % {"shown": number(lines), "tokens": number(result.row.tokens)}


def _result_html(page: LinePage, result: ResultView) -> SafeString:
    """What came back, or where to load it from; and its pictures."""
    if result.is_short:
        text = format_html(_RESULT, result.html or result.text or gettext("empty"))
    else:
        words = gettext("read the result, %(chars)s characters") % {"chars": number(result.row.text.chars)}
        text = format_html(_LATER, row_address("row_text", page.public_id, result.row.id), words)
    if not result.pictures:
        return text
    return text + page.piece("_pictures", pictures=result.pictures, row_id=result.row.id)
