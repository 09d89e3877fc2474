"""What a prompt cache made of a session: the bill of each request, and of each pass, under a chosen price table.

Two figures that are never added up: what a pass costs once, and how much of later requests is served from the cache.
Everything is modelled from the lives of rows and a table; what a provider reported stands beside it and replaces
nothing. Where a time or a price is not known, what depends on it is unknown.

A short session is counted when somebody looks. Of a long one this reads a stored account, a bounded part at a time,
and says up to which event it holds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from compaction.cache_strips import PassStrips, strips_of
from compaction.economics import PassEconomics, price_pass
from compaction.request_history import HistoryChange
from compaction.session_bills import BilledRequest, BillsState, PassFigures, ToldBills
from sessions_app.cache_assumption import CacheAssumption
from sessions_app.cache_counting import count_at_once, summarizer_tokens
from sessions_app.cache_packing import REQUESTS_A_CHUNK, unpack_bills, unpack_pass, unpack_request
from sessions_app.models import CacheAccount, CacheChunk, CachePassFigures, CompactionPass, PassKind, Session

_PASS_COLUMNS = (
    *("id", "session_id", "number", "kind", "outcome", "reason", "origin", "seq", "at", "committed", "undone_seq"),
    *("zones", "fixed_overhead_tokens", "aux_model", "main_model", "input_tokens", "output_tokens"),
    *("cache_read_tokens", "reply_error", "duration_ms", "tokens_before", "tokens_after"),
    *("counted_tokens_before", "counted_tokens_after"),
)
_PASSES_A_READ = 500


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


class CacheReader:
    """Reads the figures of one session under one assumption, in as many queries for a long session as for a short one.

    account: the stored one of a long session; without it everything is counted at once.
    """

    def __init__(self, session: Session, assumption: CacheAssumption, account: CacheAccount | None = None) -> None:
        self._session = session
        self._assumption = assumption
        self._account = account
        self._told = ToldBills((), (), BillsState()) if account else count_at_once(session, assumption)
        self.bills = unpack_bills(account.bills) if account else self._told.state
        self.through_seq = account.through_seq if account else session.last_seq

    def requests_before(self, before: int | None, most: int) -> tuple[list[BilledRequest], bool]:
        """The last `most` requests in front of event `before`, None for all, in order; and whether there are more."""
        requests = self._chunk_requests(before, most) if self._account else list(self._told.requests)
        end = len(requests) if before is None else bisect_left(requests, before, key=lambda one: one.seq)
        return requests[max(0, end - most) : end], end > most

    def passes_before(self, before: int | None, most: int) -> tuple[list[CachePass], bool]:
        """The last `most` passes in front of the one numbered `before`, in order; and whether there are more."""
        stored = self._stored_passes()
        wanted = stored if before is None else stored.filter(number__lt=before)
        found = list(wanted.order_by("-number")[: most + 1])
        return self._costs(list(reversed(found[:most]))), len(found) > most

    def passes(self) -> list[CachePass]:
        """What each pass cost, in order."""
        return list(self.each_pass())

    def each_pass(self) -> Iterator[CachePass]:
        """What each pass cost, in order, read some at a time."""
        last = 0
        while found := list(self._stored_passes().filter(number__gt=last).order_by("number")[:_PASSES_A_READ]):
            yield from self._costs(found)
            last = found[-1].number

    def requests(self) -> tuple[BilledRequest, ...]:
        """Every request of a session that is counted at once."""
        return self._told.requests

    def _stored_passes(self) -> QuerySet[CompactionPass]:
        return passes_of(self._session).filter(seq__lte=self.through_seq)

    def _chunk_requests(self, before: int | None, most: int) -> list[BilledRequest]:
        """The requests of the two chunks that hold the wanted ones. A job may have gone on meanwhile."""
        assert self._account is not None and most < REQUESTS_A_CHUNK
        through = self.through_seq
        end = through if before is None else min(before - 1, through)
        chunks = CacheChunk.objects.filter(account_id=self._account.pk, first_seq__lte=end)
        found = reversed(chunks.order_by("-first_seq")[:2])
        every = (unpack_request(one) for chunk in found for one in chunk.requests)
        return [one for one in every if one.seq <= through]

    def _figures(self, numbers: Sequence[int]) -> dict[int, PassFigures]:
        if self._account is None:
            return {one.number: one for one in self._told.passes}
        stored = CachePassFigures.objects.filter(account_id=self._account.pk, number__in=numbers)
        return {one.number: unpack_pass(one.figures) for one in stored}

    def _costs(self, made: Sequence[CompactionPass]) -> list[CachePass]:
        figures = self._figures([one.number for one in made])
        return [cost_of(one, figures[one.number], self._assumption) for one in made if one.number in figures]


def passes_of(session: Session) -> QuerySet[CompactionPass]:
    """The passes of a session that the cache tab tells of, with what it needs of them."""
    stored = CompactionPass.objects.filter(session_id=session.pk)
    return stored.exclude(kind=PassKind.NOTHING).only(*_PASS_COLUMNS)


def cost_of(made_by: CompactionPass, figures: PassFigures, assumption: CacheAssumption) -> CachePass:
    """What a pass cost by what the requests around it say."""
    summarizer = summarizer_tokens(made_by, assumption)
    change, is_warm, head_tokens = figures.change, figures.is_cache_warm, head_of(made_by)
    if change is None:
        return CachePass(made_by, is_warm, None, None, summarizer, figures.cached_shares_pct, None)
    economics = price_pass(
        assumption.prices,
        rebilled_tokens=change.tokens_after - change.prefix_tokens,
        saved_tokens=change.tokens_before - change.tokens_after,
        summarizer_billed_tokens=summarizer,
        is_cache_warm=is_warm,
    )
    strips = strips_of(
        assumption.prices,
        tokens_before=change.tokens_before,
        tokens_after=change.tokens_after,
        prefix_tokens=change.prefix_tokens,
        head_tokens=head_tokens,
        is_cache_warm=is_warm,
    )
    cold = cold_shares(change, head_tokens)
    return CachePass(made_by, is_warm, strips, economics, summarizer, figures.cached_shares_pct, cold)


def head_of(made_by: CompactionPass) -> int | None:
    """Tokens of the fixed overhead and the head as the pass found them; None when it did not say."""
    head_tokens = (made_by.zones or {}).get("head_tokens")
    return None if head_tokens is None else int(head_tokens) + (made_by.fixed_overhead_tokens or 0)


def cold_shares(change: HistoryChange, head_tokens: int | None) -> tuple[float, float] | None:
    """The cached share before and after a pass, were nothing but the head still cached."""
    if head_tokens is None or not change.tokens_before or not change.tokens_after:
        return None
    return tuple(round(100 * min(head_tokens, sent) / sent, 1) for sent in (change.tokens_before, change.tokens_after))  # type: ignore[return-value]  # two in, two out
