"""The bills of a session, request by request and pass by pass, told as its events go by.

Everything that later requests need of earlier ones is a value, `BillsState`, so bills may be told in pieces and come
out as if told at once: the figures of a long session are carried on from where they stood. What is known of a pass
grows with the two requests behind it; until then it is open, and its figures hold as far as the session has gone.

Must not read anything: sizes come from `request_history`, prices from a table. Two figures are never mixed: what one
pass costs, and what all requests cost with passes against without any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from compaction.cache_prices import CachePrices
from compaction.prompt_cache import NO_BILLS, BillTotals, Held, MeasuredRequest, RequestBill, bill_next, with_bill
from compaction.request_history import HistoryChange, HistoryRequest, RequestHistory

# Running totals are sums of floats; a billionth of a token is no difference.
_NOTHING_TOKENS: Final = 1e-9
# Of a curve this many points are kept, and at least half of them.
MOST_POINTS: Final = 400


class BilledRequest(NamedTuple):
    """One request with its bill, the bill it would have had without passes, and the running bills of both ways up to
    it, in full-price tokens; None from the first unknown bill on."""

    reply_id: int
    seq: int
    at_seconds: float | None
    bill: RequestBill
    spared: RequestBill
    running_tokens: float | None
    running_spared_tokens: float | None


class HeldPass(NamedTuple):
    """A pass at event `seq`. summarizer_tokens: what its summarizer cost in full-price tokens, None when unknown."""

    number: int
    seq: int
    at_seconds: float | None
    is_committed: bool
    summarizer_tokens: float | None


class PassFigures(NamedTuple):
    """What the requests around a pass say of it. cached_shares_pct: of the last one before it, the first behind it, and
    the one after that; None where there is none, or where it is unknown. change: None when the pass changed nothing.

    requests_behind: how many came after it, counted up to two; at two the figures stay as they are.
    """

    number: int
    seq: int
    is_cache_warm: bool | None
    change: HistoryChange | None
    cached_shares_pct: tuple[float | None, float | None, float | None]
    before_seconds: float | None
    requests_behind: int

    @property
    def is_open(self) -> bool:
        """Whether later requests may say more."""
        return self.requests_behind < 2


class CurvePoint(NamedTuple):
    """Both running bills at one event."""

    seq: int
    running_tokens: float | None
    running_spared_tokens: float | None


@dataclass(frozen=True, slots=True)
class BillsState:
    """The sums of a session so far, and what its next request needs.

    held, spared_held: what the provider holds on either way. waiting_tokens: what the summarizers of passes behind the
    last request cost. broke_even_at: index of the request from which on the passes had paid for themselves.
    points: every `step`-th request of the curve.
    """

    totals: BillTotals = NO_BILLS
    spared_totals: BillTotals = NO_BILLS
    held: Held = ()
    spared_held: Held = ()
    running_tokens: float | None = 0.0
    running_spared_tokens: float | None = 0.0
    waiting_tokens: float | None = 0.0
    summarizer_tokens: float = 0.0
    unknown_summarizers: int = 0
    broke_even_at: int | None = None
    largest_spared_tokens: int = 0
    last: CurvePoint | None = None
    last_seconds: float | None = None
    last_cached_pct: float | None = None
    step: int = 1
    points: tuple[CurvePoint, ...] = ()
    open_passes: tuple[PassFigures, ...] = ()

    @property
    def paid_tokens(self) -> float | None:
        """The bill with passes, all summarizers included."""
        return _sum(self.running_tokens, self.waiting_tokens if self.totals.requests else 0.0)

    @property
    def ahead_tokens(self) -> float | None:
        """What the passes have gained so far, negative when they have cost; None when unknown."""
        return _ahead(self.paid_tokens, self.running_spared_tokens)

    @property
    def broke_even_request(self) -> int | None:
        """Index of the request from which on the passes had paid for themselves to the end; None when they have not."""
        ahead = self.ahead_tokens
        return None if ahead is None or ahead < -_NOTHING_TOKENS else self.broke_even_at

    @property
    def curve(self) -> tuple[CurvePoint, ...]:
        """The running bills, the newest point with the summarizers behind it."""
        if self.last is None:
            return ()
        end = self.last._replace(running_tokens=self.paid_tokens)
        kept = self.points[:-1] if self.points and self.points[-1].seq == end.seq else self.points
        return (*kept, end)


@dataclass(frozen=True, slots=True)
class ToldBills:
    """What some events added. passes: those that came or of which more is known now."""

    requests: tuple[BilledRequest, ...]
    passes: tuple[PassFigures, ...]
    state: BillsState


def tell_bills(
    state: BillsState,
    history: RequestHistory,
    passes: Sequence[HeldPass],
    prices: CachePrices,
    *,
    has_no_pauses: bool = False,
) -> ToldBills:
    """Go on from `state`. history, passes: those of the events behind it, in order.

    has_no_pauses: every request is taken to have come while the cache lived, whatever times are told.
    """
    teller = _Teller(state, prices, has_no_pauses)
    changes = {change.seq: change for change in history.changes}
    for one in _by_event(history.requests, passes):
        if isinstance(one, HistoryRequest):
            teller.request(one)
        else:
            teller.make_pass(one, changes.get(one.seq) if one.is_committed else None)
    return ToldBills(tuple(teller.requests), tuple(teller.passes.values()), teller.state())


def _by_event(requests: Sequence[HistoryRequest], passes: Sequence[HeldPass]) -> Iterator[HistoryRequest | HeldPass]:
    """Both in order; what stands at one event comes as given."""
    every: list[HistoryRequest | HeldPass] = [*requests, *passes]
    yield from sorted(every, key=lambda one: one.seq)


class _Teller:
    """Carries one state on. What changes with each request stands apart from the state, for speed."""

    def __init__(self, state: BillsState, prices: CachePrices, has_no_pauses: bool) -> None:
        self._state = state
        self._prices = prices
        self._has_no_pauses = has_no_pauses
        self._points = list(state.points)
        self._open = {one.number: one for one in state.open_passes}
        self.requests: list[BilledRequest] = []
        self.passes: dict[int, PassFigures] = dict(self._open)

    def state(self) -> BillsState:
        """The state behind all that was told."""
        return replace(self._state, points=tuple(self._points), open_passes=tuple(self._open.values()))

    def request(self, one: HistoryRequest) -> None:
        """The next request, with the summarizers in front of it."""
        was = self._state
        bill, held = bill_next(was.held, self._timed(one.as_sent), self._prices)
        spared, spared_held = bill_next(was.spared_held, self._timed(one.without_passes), self._prices)
        running = _sum(was.running_tokens, _sum(bill.billed_tokens, was.waiting_tokens))
        running_spared = _sum(was.running_spared_tokens, spared.billed_tokens)
        point = CurvePoint(one.seq, running, running_spared)
        step = self._keep(point, was.totals.requests)
        at_seconds = one.as_sent.at_seconds
        self._see_from_passes(at_seconds, bill.cached_pct)
        self.requests.append(BilledRequest(one.reply_id, one.seq, at_seconds, bill, spared, running, running_spared))
        self._state = BillsState(
            totals=with_bill(was.totals, bill),
            spared_totals=with_bill(was.spared_totals, spared),
            held=held,
            spared_held=spared_held,
            running_tokens=running,
            running_spared_tokens=running_spared,
            waiting_tokens=0.0,
            summarizer_tokens=was.summarizer_tokens,
            unknown_summarizers=was.unknown_summarizers,
            broke_even_at=_crossing(was.broke_even_at, was.totals.requests, _ahead(running, running_spared)),
            largest_spared_tokens=max(was.largest_spared_tokens, spared.sent_tokens),
            last=point,
            last_seconds=at_seconds,
            last_cached_pct=bill.cached_pct,
            step=step,
        )

    def make_pass(self, one: HeldPass, change: HistoryChange | None) -> None:
        """A pass behind the last request."""
        was, cost = self._state, one.summarizer_tokens
        has_request = was.totals.requests > 0
        figures = PassFigures(
            number=one.number,
            seq=one.seq,
            is_cache_warm=self._is_warm(has_request, was.last_seconds, one.at_seconds),
            change=change,
            cached_shares_pct=(was.last_cached_pct, None, None),
            before_seconds=was.last_seconds,
            requests_behind=0,
        )
        self.passes[one.number] = self._open[one.number] = figures
        self._state = replace(
            was,
            waiting_tokens=_sum(was.waiting_tokens, cost),
            summarizer_tokens=was.summarizer_tokens + (cost or 0.0),
            unknown_summarizers=was.unknown_summarizers + (cost is None),
        )

    def _timed(self, request: MeasuredRequest) -> MeasuredRequest:
        return request._replace(at_seconds=0.0) if self._has_no_pauses else request

    def _is_warm(self, has_request: bool, before: float | None, now: float | None) -> bool | None:
        """Whether what the request before sent was still cached."""
        if not self._prices.ttl_seconds or not has_request:
            return False
        return True if self._has_no_pauses else self._prices.is_alive(before, now)

    def _see_from_passes(self, at_seconds: float | None, cached_pct: float | None) -> None:
        """A request says more of the passes it stands behind: its time whether the cache was warm, and its share."""
        has_request = self._state.totals.requests > 0
        for number, one in list(self._open.items()):
            before, first, second = one.cached_shares_pct
            if one.requests_behind:
                seen = one._replace(cached_shares_pct=(before, first, cached_pct), requests_behind=2)
                del self._open[number]
            else:
                is_warm = self._is_warm(has_request, one.before_seconds, at_seconds)
                shares = (before, cached_pct, second)
                seen = one._replace(is_cache_warm=is_warm, cached_shares_pct=shares, requests_behind=1)
                self._open[number] = seen
            self.passes[number] = seen

    def _keep(self, point: CurvePoint, index: int) -> int:
        """Keep a point of the curve when it is its turn; the step between points."""
        step = self._state.step
        if index % step:
            return step
        self._points.append(point)
        if len(self._points) > MOST_POINTS:
            self._points = self._points[::2]
            return step * 2
        return step


def _crossing(found: int | None, index: int, ahead: float | None) -> int | None:
    """From which request on `ahead` has not been negative; None while it is, or is not known."""
    if ahead is None or ahead < -_NOTHING_TOKENS:
        return None
    return index if found is None else found


def _ahead(paid: float | None, spared: float | None) -> float | None:
    return None if paid is None or spared is None else spared - paid


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second
