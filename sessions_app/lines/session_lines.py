"""A session as a line of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext

from sessions_app.lines.pieces import piece_html
from sessions_app.models import SessionStatus
from sessions_app.pages.session_list import PassCounts, SessionLine
from sessions_app.punctuation import comma
from sessions_app.rendering.addresses import session_address
from sessions_app.rendering.curve import Sparkline
from sessions_app.templatetags.site import ago, icon, number, one_decimal, percent, source_name

TITLE_CHARS, OPENING_CHARS = 120, 90
_LINE: Final = (
    '<tr data-item data-session="{}"{}>\n<td class="c-dot">{}</td>\n'
    '<td class="c-name"><a class="s-title" href="{}">{}</a> <span class="s-sub">{}</span></td>\n'
    '<td class="c-proj">{}<span class="s-sub">{}{}{}</span></td>\n'
    '<td class="num c-rows" data-l="{}">{}</td>\n<td class="num c-arch soft" data-l="{}">{}</td>\n'
    '<td class="num c-tok">{}</td>\n<td class="c-occ"><span class="occ">{}</span></td>\n'
    '<td class="c-spark">{}</td>\n<td class="c-pass"><span class="passes">{}</span></td>\n'
    '<td class="num c-last soft">{}</td></tr>\n{}'
)
_HAS_HIT: Final = SafeString(' class="has-hit"')
_DOT: Final = '<span class="dot{}" title="{}"></span><span class="vh">{}</span>'
_TITLE: Final = "<bdi>{}</bdi>"
_UNKNOWN: Final = '<span class="dim">{}</span>'
_OCCUPANCY_UNKNOWN: Final = (
    '<svg viewBox="0 0 92 8" role="img" aria-label="{}"><rect class="occ-unknown" x=".5" y="1.5" width="91" '
    'height="5"/></svg><span class="num dim">–</span>'
)
_OCCUPANCY: Final = (
    '<svg viewBox="0 0 92 8" role="img" aria-label="{}"><rect class="occ-track" y="1" width="92" height="6"/>'
    '<rect class="occ-fill{}" y="1" width="{}" height="6"/><path class="occ-edge" d="M80 -1v10"/></svg>'
    '<span class="num{}">{}</span>'
)
_SPARK: Final = (
    '<svg class="spark" viewBox="0 0 72 24" aria-hidden="true"><path class="cap{}" d="M0 3H72"/><path d="{}"/>{}</svg>'
)
_SPARK_END: Final = '<circle class="end" cx="72" cy="{}" r="2"/>'
_COUNT: Final = '<span{0} title="{1} {2}">{3}{1}<span class="vh"> {2}</span></span>'


def session_line_html(context: Any, line: SessionLine) -> SafeString:
    """The line, and beneath it what was found in the session's rows. context: of the template that holds the list."""
    session, hits = line.session, line.hits
    has_hits = hits is not None and bool(hits.rows)
    return format_html(
        _LINE,
        session.public_id,
        _HAS_HIT if has_hits else "",
        _dot_html(session.status),
        session_address("session", session.public_id),
        _title_html(line),
        session.public_id,
        session.project.name,
        source_name(session.source),
        comma(),
        session.model if session.model is not None else gettext("model unknown"),
        gettext("live"),
        number(session.live_rows),
        gettext("archived"),
        number(session.archived_rows),
        number(line.tokens),
        _occupancy_html(line),
        _spark_html(line.sparkline),
        format_html_join("", "{}", ((one,) for one in _counts(line.passes))),
        ago(session.last_activity_at),
        piece_html(context, "sessions/_hits.html", hits=hits, session=session) if has_hits else "",
    )


def _dot_html(status: str) -> SafeString:
    """What goes on in the session, as a mark and as a word."""
    match status:
        case SessionStatus.LIVE:
            kind, word = " dot-live", gettext("live")
        case SessionStatus.ENDED:
            kind, word = " dot-ended", gettext("ended")
        case _:
            kind, word = "", gettext("idle")
    return format_html(_DOT, kind, word, word)


def _title_html(line: SessionLine) -> SafeString | str:
    """The title, or how the session begins; either may run from right to left, so it is kept apart from the rest."""
    if line.session.title:
        return format_html(_TITLE, Truncator(line.session.title).chars(TITLE_CHARS))
    if line.opening:
        return format_html(_TITLE, Truncator(line.opening).chars(OPENING_CHARS))
    return gettext("Untitled session")


def _occupancy_html(line: SessionLine) -> SafeString:
    share = line.occupancy_pct
    if share is None:
        return format_html(_OCCUPANCY_UNKNOWN, gettext("occupancy unknown"))
    words = gettext("%(share)s of threshold") % {"share": percent(share)}
    hot, bad = (" hot", " bad") if line.is_hot else ("", "")
    return format_html(_OCCUPANCY, words, hot, _bar_width(share), bad, one_decimal(share))


def _bar_width(share_pct: float) -> float:
    """Of the bar's filling: the threshold stands at 80 of 92 pixels."""
    return round(min(share_pct * 0.8, 92), 1)


def _spark_html(spark: Sparkline | None) -> SafeString:
    if spark is None:
        return format_html(_UNKNOWN, gettext("unknown"))
    end = "" if spark.end_y is None else format_html(_SPARK_END, spark.end_y)
    return format_html(_SPARK, " hot" if spark.is_hot else "", spark.path, end)


def _counts(passes: PassCounts) -> Iterator[SafeString]:
    """How many passes of each kind; prunes are seldom, and named only where there are some."""
    yield _count_html("micro", passes.micro, gettext("micro"))
    yield _count_html("batch", passes.batch, gettext("batch"))
    yield _count_html("defrag", passes.defrag, gettext("defrag"))
    if passes.prune:
        yield _count_html("prune", passes.prune, gettext("prune"))
    yield _count_html("fail", passes.failed, gettext("failed"), "bad")


def _count_html(mark: str, count: int, word: str, css: str = "") -> SafeString:
    shown = css if count else "zero"
    return format_html(_COUNT, format_html(' class="{}"', shown) if shown else "", count, word, icon(mark))
