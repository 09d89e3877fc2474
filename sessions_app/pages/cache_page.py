"""The cache tab: the sums, the chart of both ways, and one page of passes or of requests."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from compaction.economics import money
from sessions_app.models import MessageRow, Session
from sessions_app.pages.cache import BilledRequest, CacheAssumption, CacheFigures, CachePass, CacheReader
from sessions_app.pages.occupancy import Tick, mark_of, read_marked_passes, token_ticks
from sessions_app.rendering.curve import Curve, Point, draw_curve, path_of
from sessions_app.rendering.rail import Mark, lay_out
from sessions_app.templatetags.site import number

PASSES_A_PAGE = 30
REQUESTS_A_PAGE = 60
MOST_POINTS = 400


class CacheView(StrEnum):
    """Which of the two tables is shown."""

    PASSES = "passes"
    REQUESTS = "requests"


@dataclass(frozen=True, slots=True)
class CacheChart:
    """Running bills in full-price tokens: the way the session went, and dashed the way without passes."""

    curve: Curve
    spared_path: str
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class RequestLine:
    """A request of the table. reported_*: what the provider said of it, None where it said nothing."""

    request: BilledRequest
    position: int | None
    at: datetime | None
    reported_input_tokens: int | None
    reported_cached_tokens: int | None


@dataclass(frozen=True, slots=True)
class CachePage:
    """What the tab shows. older: where the next page of the table begins, None at its end. verdict: one sentence."""

    assumption: CacheAssumption
    figures: CacheFigures
    verdict: str
    chart: CacheChart | None
    view: CacheView
    passes: tuple[CachePass, ...]
    requests: tuple[RequestLine, ...]
    older: int | None
    money_with_passes: float | None
    money_without_passes: float | None
    ahead_tokens: float | None


def read_cache_page(session: Session, assumption: CacheAssumption, view: CacheView, before: int | None) -> CachePage:
    """The page. before: the number of the pass, or the event of the request, that the table goes on in front of."""
    reader = CacheReader(session, assumption)
    figures = reader.figures()
    passes: tuple[CachePass, ...] = ()
    requests: tuple[RequestLine, ...] = ()
    if view is CacheView.PASSES:
        passes, older = page_of_passes(reader, before)
    else:
        requests, older = page_of_requests(session, figures.requests, before)
    paid, spared = last_of(figures.comparison.with_passes), last_of(figures.comparison.without_passes)
    return CachePage(
        assumption=assumption,
        figures=figures,
        verdict=verdict_of(figures),
        chart=chart_of(session, figures.requests),
        view=view,
        passes=passes,
        requests=requests,
        older=older,
        money_with_passes=money(paid, assumption.input_usd),
        money_without_passes=money(spared, assumption.input_usd),
        ahead_tokens=figures.comparison.ahead_tokens,
    )


def last_of(running: Sequence[float | None]) -> float | None:
    return running[-1] if running else 0.0


def page_of_passes(reader: CacheReader, before: int | None) -> tuple[tuple[CachePass, ...], int | None]:
    """Passes, newest first."""
    numbers = reader.numbers()
    end = len(numbers) if before is None else bisect_left(numbers, before)
    shown = numbers[max(0, end - PASSES_A_PAGE) : end]
    return tuple(reversed(reader.passes(shown))), shown[0] if end > PASSES_A_PAGE else None


def page_of_requests(
    session: Session, requests: Sequence[BilledRequest], before: int | None
) -> tuple[tuple[RequestLine, ...], int | None]:
    """Requests, newest first, with what the provider reported."""
    end = len(requests) if before is None else bisect_left(requests, before, key=lambda one: one.seq)
    shown = requests[max(0, end - REQUESTS_A_PAGE) : end]
    lines = request_lines(session, shown)
    return tuple(reversed(lines)), shown[0].seq if end > REQUESTS_A_PAGE else None


def request_lines(session: Session, requests: Sequence[BilledRequest]) -> list[RequestLine]:
    """The lines of some requests, in order."""
    rows = MessageRow.objects.filter(session_id=session.pk, id__in=[one.reply_id for one in requests])
    told = {row[0]: row[1:] for row in rows.values_list("id", "position", "input_tokens", "cache_read_tokens")}
    nothing = (None, None, None)
    return [
        RequestLine(
            one,
            told.get(one.reply_id, nothing)[0],
            None if one.at_seconds is None else datetime.fromtimestamp(one.at_seconds, UTC),
            *told.get(one.reply_id, nothing)[1:],
        )
        for one in requests
    ]


def verdict_of(figures: CacheFigures) -> str:
    """Whether compaction has paid for itself so far, in one sentence."""
    comparison, count = figures.comparison, len(figures.requests)
    if not count:
        return _("No request so far.")
    if comparison.ahead_tokens is None:
        return _("Whether compaction has paid for itself is unknown: {why}.").format(why=unknown_words(figures))
    ahead = round(comparison.ahead_tokens)
    if comparison.broke_even_at is None:
        return _(
            "Compaction has not paid for itself: after {requests} requests it is {tokens} full-price tokens behind."
        ).format(requests=number(count), tokens=number(-ahead))
    if not ahead:
        return _("Compaction has made no difference to the bill so far.")
    first = comparison.broke_even_at + 1
    return _(
        "Compaction has paid for itself since request {first} of {requests}: it is {tokens} full-price tokens ahead."
    ).format(first=number(first), requests=number(count), tokens=number(ahead))


def unknown_words(figures: CacheFigures) -> str:
    """Why the sums are unknown."""
    reasons = []
    if unknown := figures.totals.unknown_requests:
        reasons.append(
            ngettext("the time of {n} request is missing", "the times of {n} requests are missing", unknown).format(
                n=number(unknown)
            )
        )
    if figures.unknown_summarizers:
        reasons.append(
            ngettext(
                "what the summarizer of {n} pass cost is unknown",
                "what the summarizers of {n} passes cost is unknown",
                figures.unknown_summarizers,
            ).format(n=number(figures.unknown_summarizers))
        )
    return ", ".join(reasons) or _("figures are missing")


def chart_of(session: Session, requests: Sequence[BilledRequest]) -> CacheChart | None:
    """Both running bills over the session's events; None when there is nothing to draw."""
    step = max(1, len(requests) // MOST_POINTS)
    shown = [one for index, one in enumerate(requests) if index % step == 0 or index == len(requests) - 1]
    paid = [Point(one.seq, one.running_tokens) for one in shown]
    spared = [Point(one.seq, one.running_spared_tokens) for one in shown]
    known = [point.pct for point in (*paid, *spared) if point.pct is not None]
    if len(shown) < 2 or not known:
        return None
    curve = draw_curve(paid, max(10.0, 1.08 * max(known)))
    marks = [mark_of(session, curve, one) for one in read_marked_passes(session) if one.seq >= curve.first_seq]
    return CacheChart(curve, path_of(spared, curve), lay_out(marks), token_ticks(curve))
