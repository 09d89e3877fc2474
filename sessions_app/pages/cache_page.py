"""The cache tab: the sums, the chart of both ways, and one page of passes or of requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from compaction.economics import money
from compaction.session_bills import BilledRequest, BillsState
from sessions_app.cache_assumption import CacheAssumption
from sessions_app.models import CacheAccount, MessageRow, Session
from sessions_app.pages.cache import CachePass, CacheReader
from sessions_app.pages.occupancy import Tick, mark_of, read_marked_passes, token_ticks
from sessions_app.punctuation import listed
from sessions_app.rendering.curve import Curve, Point, draw_curve, path_of
from sessions_app.rendering.rail import Mark, lay_out
from sessions_app.templatetags.site import number

PASSES_A_PAGE = 30
REQUESTS_A_PAGE = 60


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
    """What the tab shows. bills: the sums up to event `through_seq`, which is behind `last_seq` while a long session is
    being counted. older: where the next page of the table begins, None at its end. verdict: one sentence."""

    assumption: CacheAssumption
    bills: BillsState
    through_seq: int
    last_seq: int
    verdict: str
    chart: CacheChart | None
    view: CacheView
    passes: tuple[CachePass, ...]
    requests: tuple[RequestLine, ...]
    older: int | None
    money_with_passes: float | None

    @property
    def is_counting(self) -> bool:
        """Whether more is to come."""
        return self.through_seq < self.last_seq

    @property
    def has_figures(self) -> bool:
        """Whether anything is counted; until then nothing is shown, since nothing is known."""
        return self.through_seq > 0 or not self.is_counting

    @property
    def counted_pct(self) -> float:
        """How far counting has come, by events."""
        return round(100 * self.through_seq / self.last_seq, 1) if self.last_seq else 100.0


def read_cache_page(
    session: Session, assumption: CacheAssumption, view: CacheView, before: int | None, account: CacheAccount | None
) -> CachePage:
    """The page. before: the number of the pass, or the event of the request, that the table goes on in front of.

    account: the stored figures of a long session; None for a short one.
    """
    reader = CacheReader(session, assumption, account)
    passes: tuple[CachePass, ...] = ()
    requests: tuple[RequestLine, ...] = ()
    if view is CacheView.PASSES:
        passes, older = page_of_passes(reader, before)
    else:
        requests, older = page_of_requests(session, reader, before)
    return CachePage(
        assumption=assumption,
        bills=reader.bills,
        through_seq=reader.through_seq,
        last_seq=session.last_seq,
        verdict=verdict_of(reader.bills, is_counting=reader.through_seq < session.last_seq),
        chart=chart_of(session, reader.bills),
        view=view,
        passes=passes,
        requests=requests,
        older=older,
        money_with_passes=money(reader.bills.paid_tokens, assumption.input_usd),
    )


def page_of_passes(reader: CacheReader, before: int | None) -> tuple[tuple[CachePass, ...], int | None]:
    """Passes, newest first."""
    shown, has_more = reader.passes_before(before, PASSES_A_PAGE)
    return tuple(reversed(shown)), shown[0].made_by.number if shown and has_more else None


def page_of_requests(
    session: Session, reader: CacheReader, before: int | None
) -> tuple[tuple[RequestLine, ...], int | None]:
    """Requests, newest first, with what the provider reported."""
    shown, has_more = reader.requests_before(before, REQUESTS_A_PAGE)
    lines = request_lines(session, shown)
    return tuple(reversed(lines)), shown[0].seq if has_more else None


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


def verdict_of(bills: BillsState, *, is_counting: bool) -> str:
    """Whether compaction has paid for itself so far, in one sentence."""
    count, ahead_tokens, first = bills.totals.requests, bills.ahead_tokens, bills.broke_even_request
    if not count:
        return _("No request has been counted so far.") if is_counting else _("No request so far.")
    if ahead_tokens is None:
        return _("Whether compaction has paid for itself is unknown: {why}.").format(why=unknown_words(bills))
    ahead = round(ahead_tokens)
    if first is None:
        return _(
            "Compaction has not paid for itself: after {requests} requests it is {tokens} full-price tokens behind."
        ).format(requests=number(count), tokens=number(-ahead))
    if not ahead:
        return _("Compaction has made no difference to the bill so far.")
    return _(
        "Compaction has paid for itself since request {first} of {requests}: it is {tokens} full-price tokens ahead."
    ).format(first=number(first + 1), requests=number(count), tokens=number(ahead))


def unknown_words(bills: BillsState) -> str:
    """Why the sums are unknown."""
    reasons = []
    if unknown := bills.totals.unknown_requests:
        reasons.append(
            ngettext("the time of {n} request is missing", "the times of {n} requests are missing", unknown).format(
                n=number(unknown)
            )
        )
    if bills.unknown_summarizers:
        reasons.append(
            ngettext(
                "what the summarizer of {n} pass cost is unknown",
                "what the summarizers of {n} passes cost is unknown",
                bills.unknown_summarizers,
            ).format(n=number(bills.unknown_summarizers))
        )
    return listed(reasons) or _("figures are missing")


def chart_of(session: Session, bills: BillsState) -> CacheChart | None:
    """Both running bills over the session's events; None when there is nothing to draw."""
    shown = bills.curve
    paid = [Point(one.seq, one.running_tokens) for one in shown]
    spared = [Point(one.seq, one.running_spared_tokens) for one in shown]
    known = [point.pct for point in (*paid, *spared) if point.pct is not None]
    if len(shown) < 2 or not known:
        return None
    curve = draw_curve(paid, max(10.0, 1.08 * max(known)))
    drawn = range(curve.first_seq, curve.last_seq + 1)
    marks = [mark_of(session, curve, one) for one in read_marked_passes(session) if one.seq in drawn]
    return CacheChart(curve, path_of(spared, curve), lay_out(marks), token_ticks(curve))
