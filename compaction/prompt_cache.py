"""What a provider's prompt cache serves of each request of a session, and what the request is billed.

A cache serves the beginning that a request has in common with the one before it, as long as the entry lives. The model
here is the least a provider promises: whole messages are compared, then the provider's granularity and minimum apply.
So a history that is only appended to stays cached, and a change in its middle is billed anew from there on, once.

Three kinds of tokens make up a request and always add up to it:
    cached    served from the cache;
    rebilled  sent with the request before as well, and yet not served: behind a change, or expired;
    new       not sent before.
Bills are counted in full-price tokens: one is what a token of input costs when no cache is involved. When it can't be
known whether an entry still lived (a time is missing, or times run backwards), cached, rebilled and billed are None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, NamedTuple, TypeAlias

from compaction.cache_prices import CachePrices
from compaction.messages import Message
from compaction.tokens import TokenCounter, row_tokens

_OVERHEAD: Final = "fixed overhead"


class SentMessage(NamedTuple):
    """A message as far as a cache cares: what it is (equal messages have equal content) and its tokens."""

    content: Hashable
    tokens: int


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request of a session. Fixed overhead (tool schemas) is a message in front. at_seconds: when, None unknown."""

    messages: tuple[SentMessage, ...]
    at_seconds: float | None = None

    @property
    def tokens(self) -> int:
        """All tokens of the request."""
        return sum(message.tokens for message in self.messages)


@dataclass(frozen=True, slots=True)
class RequestBill:
    """The bill of one request. cached + rebilled + new = sent. `billed_tokens` in full-price tokens.

    written_tokens: tokens billed at the price of a cache write; 0 for a request too small to be cached.
    """

    sent_tokens: int
    new_tokens: int
    cached_tokens: int | None
    rebilled_tokens: int | None
    written_tokens: int | None
    billed_tokens: float | None

    @property
    def cached_pct(self) -> float | None:
        """Share of the request that came from the cache, in percent with one decimal; None when unknown."""
        if self.cached_tokens is None or not self.sent_tokens:
            return None
        return round(self.cached_tokens / self.sent_tokens * 100, 1)


@dataclass(frozen=True, slots=True)
class BillTotals:
    """Sums over a session. Cached, rebilled, written and billed are of the requests whose bill is known; None when
    there is none. unknown_requests: how many are left out of them."""

    requests: int
    unknown_requests: int
    sent_tokens: int
    new_tokens: int
    cached_tokens: int | None
    rebilled_tokens: int | None
    written_tokens: int | None
    billed_tokens: float | None


NO_BILLS: Final = BillTotals(0, 0, 0, 0, None, None, None, None)


class HeldSegment(NamedTuple):
    """Cached tokens up to `end_tokens`, alive since `since_seconds` (None: it can't be known)."""

    end_tokens: int
    since_seconds: float | None


# What the provider holds after a request.
Held: TypeAlias = tuple[HeldSegment, ...]


class MeasuredRequest(NamedTuple):
    """A request by its sizes alone, where the messages themselves are not at hand.

    common_tokens: of the beginning it shares with the request before. repeated_tokens: of all messages that the request
    before held as well, wherever they stood; common_tokens <= repeated_tokens <= sent_tokens.
    """

    sent_tokens: int
    common_tokens: int
    repeated_tokens: int
    at_seconds: float | None = None


def sent_request(
    messages: Iterable[Message],
    counter: TokenCounter,
    *,
    fixed_overhead_tokens: int = 0,
    at_seconds: float | None = None,
) -> SentRequest:
    """The request that sends `messages` (a model view) behind what every request of the session begins with."""
    overhead = (SentMessage(_OVERHEAD, fixed_overhead_tokens),) if fixed_overhead_tokens else ()
    sent = (SentMessage(message, row_tokens(message, counter)) for message in messages)
    return SentRequest((*overhead, *sent), at_seconds)


def bill_requests(requests: Iterable[SentRequest], prices: CachePrices) -> Iterator[RequestBill]:
    """The bill of each of a session's requests, in order; each is compared with the one before it."""
    return bill_measured(measure_requests(requests), prices)


def measure_requests(requests: Iterable[SentRequest]) -> Iterator[MeasuredRequest]:
    """The sizes of a session's requests, in order; each is compared with the one before it."""
    before: tuple[SentMessage, ...] = ()
    for request in requests:
        now = request.messages
        common, repeated = _common_tokens(before, now), _repeated_tokens(before, now)
        yield MeasuredRequest(request.tokens, common, repeated, request.at_seconds)
        before = now


def bill_measured(requests: Iterable[MeasuredRequest], prices: CachePrices) -> Iterator[RequestBill]:
    """The bill of each of a session's measured requests, in order."""
    held: Held = ()
    for request in requests:
        bill, held = bill_next(held, request, prices)
        yield bill


def bill_next(held: Held, request: MeasuredRequest, prices: CachePrices) -> tuple[RequestBill, Held]:
    """The bill of the next request of a session, and what the provider holds after it. held: after the one before."""
    cached_tokens = _served_tokens(held, request.common_tokens, request.at_seconds, prices)
    return _bill(request, cached_tokens, prices), _held_after(held, request, cached_tokens, prices)


def total_of(bills: Iterable[RequestBill]) -> BillTotals:
    """The sums of `bills`."""
    return reduce(with_bill, bills, NO_BILLS)


def with_bill(totals: BillTotals, bill: RequestBill) -> BillTotals:
    """The sums with one bill more."""
    requests, unknown = totals.requests + 1, totals.unknown_requests
    sent_tokens, new_tokens = totals.sent_tokens + bill.sent_tokens, totals.new_tokens + bill.new_tokens
    if bill.billed_tokens is None:
        known = (totals.cached_tokens, totals.rebilled_tokens, totals.written_tokens, totals.billed_tokens)
        return BillTotals(requests, unknown + 1, sent_tokens, new_tokens, *known)
    return BillTotals(
        requests,
        unknown,
        sent_tokens,
        new_tokens,
        (totals.cached_tokens or 0) + (bill.cached_tokens or 0),
        (totals.rebilled_tokens or 0) + (bill.rebilled_tokens or 0),
        (totals.written_tokens or 0) + (bill.written_tokens or 0),
        (totals.billed_tokens or 0.0) + bill.billed_tokens,
    )


def _common_tokens(before: Sequence[SentMessage], now: Sequence[SentMessage]) -> int:
    """Tokens of the messages both begin with."""
    common = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        common += new.tokens
    return common


def _served_tokens(held: Held, common_tokens: int, now_seconds: float | None, prices: CachePrices) -> int | None:
    """Tokens the cache serves of a request that has `common_tokens` in common with what it holds."""
    held_tokens = held[-1].end_tokens if held else 0
    if prices.kept_tokens(min(common_tokens, held_tokens)) == 0:
        return 0
    alive_tokens = 0
    for segment in held:
        is_alive = prices.is_alive(segment.since_seconds, now_seconds)
        if is_alive is None:
            return None
        if not is_alive:
            break
        alive_tokens = segment.end_tokens
    return prices.kept_tokens(min(common_tokens, alive_tokens))


def _is_stored(sent_tokens: int, prices: CachePrices) -> bool:
    return prices.kept_tokens(sent_tokens) > 0


def _bill(request: MeasuredRequest, cached_tokens: int | None, prices: CachePrices) -> RequestBill:
    sent_tokens, repeated_tokens = request.sent_tokens, request.repeated_tokens
    new_tokens = sent_tokens - repeated_tokens
    if cached_tokens is None:
        return RequestBill(sent_tokens, new_tokens, None, None, None, None)
    rest_tokens = sent_tokens - cached_tokens
    written_tokens = rest_tokens if _is_stored(sent_tokens, prices) else 0
    billed_tokens = cached_tokens * prices.read + written_tokens * prices.write + float(rest_tokens - written_tokens)
    rebilled_tokens = repeated_tokens - cached_tokens
    return RequestBill(sent_tokens, new_tokens, cached_tokens, rebilled_tokens, written_tokens, billed_tokens)


def _repeated_tokens(before: Sequence[SentMessage], now: Sequence[SentMessage]) -> int:
    """Tokens of messages that the request before held as well, wherever they stood."""
    left = Counter(before)
    repeated = 0
    for message in now:
        if left[message] > 0:
            left[message] -= 1
            repeated += message.tokens
    return repeated


def _held_after(held: Held, request: MeasuredRequest, cached_tokens: int | None, prices: CachePrices) -> Held:
    """What the cache holds after `request`: what was read, and everything behind it as written now."""
    written = HeldSegment(request.sent_tokens, request.at_seconds)
    if not _is_stored(request.sent_tokens, prices):
        return ()
    if prices.ttl_refreshes_on_use:
        # Read or written, each token's time starts again now, so this is known even when the bill is not.
        return (written,)
    if cached_tokens is None:
        return (HeldSegment(request.common_tokens, None), written)
    return (*_clipped(held, cached_tokens), written)


def _clipped(segments: Sequence[HeldSegment], end_tokens: int) -> tuple[HeldSegment, ...]:
    kept: list[HeldSegment] = []
    begin_tokens = 0
    for segment in segments:
        if begin_tokens >= end_tokens:
            break
        kept.append(HeldSegment(min(segment.end_tokens, end_tokens), segment.since_seconds))
        begin_tokens = segment.end_tokens
    return tuple(kept)
