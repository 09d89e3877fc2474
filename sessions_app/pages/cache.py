"""What a prompt cache made of a session: the bill of each request, and of each pass, under a chosen price table.

Two figures that are never added up: what a pass costs once, and how much of later requests is served from the cache.
Everything is modelled from the lives of rows and a table; what a provider reported stands beside it and replaces
nothing. Where a time or a price is not known, what depends on it is unknown.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from compaction.cache_prices import CachePrices, shipped_price_table
from compaction.cache_strips import PassStrips, strips_of
from compaction.economics import (
    Comparison,
    PassEconomics,
    compare,
    price_pass,
    summarizer_bill,
)
from compaction.prompt_cache import BillTotals, MeasuredRequest, RequestBill, bill_measured, total_of
from compaction.request_history import HistoryChange, RequestHistory
from compaction.summarizer import Usage
from sessions_app.models import CompactionPass, PassKind, PassOrigin, Session
from sessions_app.pricing import base_price_usd, summarizer_prices
from sessions_app.queries.row_lives import history_of
from sessions_app.summarizers import EXTRACTIVE

_PASS_COLUMNS = (
    *("id", "session_id", "number", "kind", "outcome", "reason", "origin", "seq", "at", "committed", "undone_seq"),
    *("zones", "fixed_overhead_tokens", "aux_model", "main_model", "input_tokens", "output_tokens"),
    *("cache_read_tokens", "reply_error", "duration_ms", "tokens_before", "tokens_after"),
    *("counted_tokens_before", "counted_tokens_after"),
)


@dataclass(frozen=True, slots=True)
class CacheAssumption:
    """Under what the figures hold. is_table_known: the table is the one of the session's model, or was chosen.

    has_no_pauses: every request is taken to have come while the cache lived, whatever times are stored.
    input_usd: dollars for a million tokens of the model's input, None when its price is not in the list.
    """

    prices: CachePrices
    is_table_known: bool
    model: str
    input_usd: float | None
    has_no_pauses: bool


@dataclass(frozen=True, slots=True)
class BilledRequest:
    """One request with its bill, and the running bills of both ways up to it."""

    reply_id: int
    seq: int
    at_seconds: float | None
    bill: RequestBill
    spared: RequestBill
    running_tokens: float | None
    running_spared_tokens: float | None


@dataclass(frozen=True, slots=True)
class CacheFigures:
    """A session's requests under one assumption.

    comparison: with its passes against without any, summarizers included. summarizer_tokens: what they cost as far as
    it is known, in full-price tokens; unknown_summarizers: passes of which it is not. largest_spared_tokens: the
    largest request the session would have made without passes.
    """

    assumption: CacheAssumption
    requests: tuple[BilledRequest, ...]
    totals: BillTotals
    spared_totals: BillTotals
    comparison: Comparison
    summarizer_tokens: float
    unknown_summarizers: int
    largest_spared_tokens: int


@dataclass(frozen=True, slots=True)
class CachePass:
    """What one pass cost. strips and economics are None for a pass that changed nothing.

    cached_shares_pct: of the last request before it, the first behind it, and the one after that. cold_shares_pct:
    before and after, were only the head still cached; None when the head is not known.
    """

    made_by: CompactionPass
    is_cache_warm: bool | None
    strips: PassStrips | None
    economics: PassEconomics | None
    summarizer_tokens: float | None
    cached_shares_pct: tuple[float | None, float | None, float | None]
    cold_shares_pct: tuple[float, float] | None


def assume(table_id: str, model: str, session: Session, *, has_no_pauses: bool) -> CacheAssumption:
    """The assumption for a session. An empty table is the one of the model, else the first; an empty model its own."""
    tables = shipped_price_table()
    model = model or session.model or ""
    named = next((prices for prices in tables.providers if prices.id == table_id), None)
    found = named or tables.for_model(model)
    prices = found or tables.providers[0]
    return CacheAssumption(prices, found is not None, model, base_price_usd(model), has_no_pauses)


class CacheReader:
    """Reads the figures of one session under one assumption: the passes in one query, the rows in three."""

    def __init__(self, session: Session, assumption: CacheAssumption) -> None:
        self._session = session
        self._assumption = assumption
        self._history: RequestHistory = history_of(session)
        stored = CompactionPass.objects.filter(session_id=session.pk).exclude(kind=PassKind.NOTHING)
        self._passes = list(stored.only(*_PASS_COLUMNS).order_by("number"))
        self._seqs = [one.seq for one in self._history.requests]
        self._changes = {one.seq: one for one in self._history.changes}
        self._bills = self._billed([one.as_sent for one in self._history.requests])

    def figures(self) -> CacheFigures:
        """Every request, and the sums."""
        spared = self._billed([one.without_passes for one in self._history.requests])
        bills = [self._summarizer_tokens(one) for one in self._passes]
        comparison = compare(self._bills, spared, self._by_request(bills))
        return CacheFigures(
            assumption=self._assumption,
            requests=self._requests(spared, comparison),
            totals=total_of(self._bills),
            spared_totals=total_of(spared),
            comparison=comparison,
            summarizer_tokens=sum(bill for bill in bills if bill is not None),
            unknown_summarizers=sum(bill is None for bill in bills),
            largest_spared_tokens=max((bill.sent_tokens for bill in spared), default=0),
        )

    def passes(self, numbers: Sequence[int] | None = None) -> list[CachePass]:
        """What each pass cost, in order; without numbers all of them."""
        wanted = None if numbers is None else frozenset(numbers)
        return [self._pass(one) for one in self._passes if wanted is None or one.number in wanted]

    def numbers(self) -> list[int]:
        """The numbers of all passes, in order."""
        return [one.number for one in self._passes]

    def _billed(self, requests: Sequence[MeasuredRequest]) -> list[RequestBill]:
        timed = [one._replace(at_seconds=0.0) for one in requests] if self._assumption.has_no_pauses else requests
        return list(bill_measured(timed, self._assumption.prices))

    def _requests(self, spared: Sequence[RequestBill], comparison: Comparison) -> tuple[BilledRequest, ...]:
        ways = zip(comparison.with_passes, comparison.without_passes, strict=True)
        return tuple(
            BilledRequest(one.reply_id, one.seq, one.as_sent.at_seconds, bill, other, *running)
            for one, bill, other, running in zip(self._history.requests, self._bills, spared, ways, strict=True)
        )

    def _by_request(self, bills: Sequence[float | None]) -> tuple[float | None, ...]:
        """What summarizers cost before each request; those behind the last one count with it."""
        sums: list[float | None] = [0.0] * len(self._seqs)
        for made_by, bill in zip(self._passes, bills, strict=True):
            index = min(bisect_right(self._seqs, made_by.seq), len(sums) - 1)
            held = sums[index] if sums else None
            if sums:
                sums[index] = None if bill is None or held is None else held + bill
        return tuple(sums)

    def _summarizer_tokens(self, made_by: CompactionPass) -> float | None:
        """What the summarizer of a pass cost in full-price tokens; nothing where nobody was asked."""
        is_ours = made_by.origin == PassOrigin.ENGINE
        if made_by.kind == PassKind.PRUNE or (is_ours and made_by.aux_model in (None, "", EXTRACTIVE)):
            return 0.0
        prices = summarizer_prices(
            self._assumption.model or made_by.main_model, made_by.aux_model, self._assumption.prices.read
        )
        usage = Usage(made_by.input_tokens, made_by.output_tokens, made_by.cache_read_tokens)
        return summarizer_bill(usage, prices)

    def _pass(self, made_by: CompactionPass) -> CachePass:
        change = self._changes.get(made_by.seq) if made_by.committed else None
        summarizer = self._summarizer_tokens(made_by)
        is_warm = self._is_warm(made_by)
        head_tokens = head_of(made_by)
        known = CachePass(made_by, is_warm, None, None, summarizer, self._shares(made_by.seq), None)
        if change is None:
            return known
        return replace(
            known,
            strips=self._strips(change, head_tokens, is_warm),
            economics=price_pass(
                self._assumption.prices,
                rebilled_tokens=change.tokens_after - change.prefix_tokens,
                saved_tokens=change.tokens_before - change.tokens_after,
                summarizer_billed_tokens=summarizer,
                is_cache_warm=is_warm,
            ),
            cold_shares_pct=cold_shares(change, head_tokens),
        )

    def _strips(self, change: HistoryChange, head_tokens: int | None, is_warm: bool | None) -> PassStrips:
        return strips_of(
            self._assumption.prices,
            tokens_before=change.tokens_before,
            tokens_after=change.tokens_after,
            prefix_tokens=change.prefix_tokens,
            head_tokens=head_tokens,
            is_cache_warm=is_warm,
        )

    def _is_warm(self, made_by: CompactionPass) -> bool | None:
        """Whether what the request before sent was still cached at the request behind, or else at the pass itself."""
        prices, index = self._assumption.prices, bisect_left(self._seqs, made_by.seq)
        if not prices.ttl_seconds or not index:
            return False
        if self._assumption.has_no_pauses:
            return True
        requests = self._history.requests
        moment = None if made_by.at is None else made_by.at.timestamp()
        if index < len(requests):
            moment = requests[index].as_sent.at_seconds
        return prices.is_alive(requests[index - 1].as_sent.at_seconds, moment)

    def _shares(self, seq: int) -> tuple[float | None, float | None, float | None]:
        index = bisect_left(self._seqs, seq)
        before, first, second = (
            self._bills[place].cached_pct if 0 <= place < len(self._bills) else None
            for place in (index - 1, index, index + 1)
        )
        return before, first, second


def head_of(made_by: CompactionPass) -> int | None:
    """Tokens of the fixed overhead and the head as the pass found them; None when it did not say."""
    head_tokens = (made_by.zones or {}).get("head_tokens")
    return None if head_tokens is None else int(head_tokens) + (made_by.fixed_overhead_tokens or 0)


def cold_shares(change: HistoryChange, head_tokens: int | None) -> tuple[float, float] | None:
    """The cached share before and after a pass, were nothing but the head still cached."""
    if head_tokens is None or not change.tokens_before or not change.tokens_after:
        return None
    return tuple(round(100 * min(head_tokens, sent) / sent, 1) for sent in (change.tokens_before, change.tokens_after))  # type: ignore[return-value]  # two in, two out
