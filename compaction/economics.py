"""What compaction costs and what it gives back.

Two figures, never mixed. What one pass costs: the summarizer's tokens, and once the part of the history that stands
behind the first changed row, because the provider's cache can't serve it any more. What later requests look like: fewer
tokens are sent, and what is sent is served from the cache again. Everything is counted in full-price tokens: one is
what a token of the main model's input costs when no cache is involved.

With a warm cache the history would have been read at `read`; behind the change it is written at `write` instead:

    bill of a pass  = summarizer + rebilled x (write - read)
    gain per call   = tokens not sent any more x read
    break-even      = the smallest whole number of later calls with  calls x gain >= bill

The first request after the pass is the first of these calls. 60,000 tokens re-billed at 0.1/1.25 cost 60,000 x 1.15 =
69,000; 700 tokens saved give back 70 per call; 69,000 / 70 = 985.7, so 986 later calls. With a cold cache the whole
history is written anyway: a pass then costs the summarizer alone, and a token not sent is worth its write price in that
one request.

Passes that follow each other each break the cache once; a session is judged by comparing all its requests with those
it would have made without passes (`compare`), not by adding up single passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate
from typing import Final

from compaction.cache_prices import CachePrices
from compaction.errors import InvalidInput
from compaction.prompt_cache import RequestBill
from compaction.summarizer import Usage

# Running totals are sums of floats; a billionth of a token is no difference.
_NOTHING_TOKENS: Final = 1e-9


@dataclass(frozen=True, slots=True)
class SummarizerPrices:
    """Prices of the summarizer per token, as multiples of the main model's base input price.

    cached_input None: cached tokens are billed like any other input.
    """

    input: float
    output: float
    cached_input: float | None = None


class Verdict(StrEnum):
    """Whether a bill is ever earned back."""

    AFTER_CALLS = "after_calls"
    NEVER = "never"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class BreakEven:
    """After how many later calls a bill is earned back. calls is None for never and for unknown."""

    verdict: Verdict
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class PassEconomics:
    """What one pass costs and gives back. Bills and gains in full-price tokens; unknown is None.

    rebilled_tokens: tokens of the next request behind the first changed row that the cache would have served or, for
    the new summary, that have to be written; 0 with a cold cache. saved_tokens: tokens each later request is shorter
    by; negative when the pass made it longer. gain_per_call: while the cache stays warm.
    """

    summarizer_billed_tokens: float | None
    rebilled_tokens: int | None
    rebilled_extra_tokens: float | None
    billed_tokens: float | None
    saved_tokens: int
    gain_per_call_tokens: float
    break_even: BreakEven


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two ways through one session, request by request, each with its running bill.

    with_passes, without_passes: running totals in full-price tokens; None from the first unknown bill on.
    broke_even_at: index of the request from which on the passes had paid for themselves to the end; None when they
    have not. ahead_tokens: what the passes have gained in the end, negative when they have cost; None when unknown.
    """

    with_passes: tuple[float | None, ...]
    without_passes: tuple[float | None, ...]
    broke_even_at: int | None
    ahead_tokens: float | None


def summarizer_bill(usage: Usage, prices: SummarizerPrices | None) -> float | None:
    """What a call of the summarizer cost, in full-price tokens; None when its tokens or its prices are not known.

    Output as reported includes the tokens of reasoning. Unknown cached tokens count as none.
    """
    if prices is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached_tokens = min(usage.cached_tokens or 0, usage.input_tokens)
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    fresh_tokens = usage.input_tokens - cached_tokens
    return fresh_tokens * prices.input + cached_tokens * cached_price + usage.output_tokens * prices.output


def price_pass(
    prices: CachePrices,
    *,
    rebilled_tokens: int | None,
    saved_tokens: int,
    summarizer_billed_tokens: float | None,
    is_cache_warm: bool | None = True,
) -> PassEconomics:
    """The bill of a pass and when it is earned back.

    rebilled_tokens: tokens of the next request behind the first changed row, the new summary included; None unknown.
    summarizer_billed_tokens: see `summarizer_bill`; 0 for a summarizer without a model. is_cache_warm: whether the
    provider still held the history when the pass was made; None when that is not known.
    """
    rebilled = rebilled_tokens if is_cache_warm else 0
    if is_cache_warm is None:
        rebilled = None
    extra = None if rebilled is None else rebilled * (_exact(prices.write) - _exact(prices.read))
    bill = None if extra is None or summarizer_billed_tokens is None else extra + _exact(summarizer_billed_tokens)
    gain = saved_tokens * _exact(prices.read)
    return PassEconomics(
        summarizer_billed_tokens=summarizer_billed_tokens,
        rebilled_tokens=rebilled,
        rebilled_extra_tokens=None if extra is None else float(extra),
        billed_tokens=None if bill is None else float(bill),
        saved_tokens=saved_tokens,
        gain_per_call_tokens=float(gain),
        break_even=_break_even(bill, gain),
    )


def break_even(billed_tokens: float | None, gain_per_call_tokens: float) -> BreakEven:
    """After how many calls that each give back `gain_per_call_tokens` a bill is earned back: the smallest whole number
    of calls, 0 for nothing to earn back, never when a call gives back nothing."""
    bill = None if billed_tokens is None else _exact(billed_tokens)
    return _break_even(bill, _exact(gain_per_call_tokens))


def _break_even(bill: Fraction | None, gain: Fraction) -> BreakEven:
    if bill is None:
        return BreakEven(Verdict.UNKNOWN)
    if bill <= 0 and gain >= 0:
        return BreakEven(Verdict.AFTER_CALLS, 0)
    if gain <= 0:
        return BreakEven(Verdict.NEVER)
    return BreakEven(Verdict.AFTER_CALLS, math.ceil(bill / gain))


def compare(
    with_passes: Sequence[RequestBill],
    without_passes: Sequence[RequestBill],
    summarizer_bills: Sequence[float | None] = (),
) -> Comparison:
    """Compare the requests of a session with those it would have made without passes, one by one.

    summarizer_bills: what summarizers cost before each request, in full-price tokens; empty for nothing at all.
    Raises InvalidInput when the three don't have the same length: then they are not of the same session.
    """
    extras = tuple(summarizer_bills) or (0.0,) * len(with_passes)
    if not len(with_passes) == len(without_passes) == len(extras):
        lengths = f"{len(with_passes)}, {len(without_passes)} and {len(extras)}"
        raise InvalidInput(f"requests and summarizer bills differ in number: {lengths}", "comparison")
    paid = _running([_sum(bill.billed_tokens, extra) for bill, extra in zip(with_passes, extras, strict=True)])
    spared = _running([bill.billed_tokens for bill in without_passes])
    ahead = [None if a is None or b is None else b - a for a, b in zip(paid, spared, strict=True)]
    return Comparison(paid, spared, _last_crossing(ahead), ahead[-1] if ahead else 0.0)


def money(billed_tokens: float | None, input_price_per_million: float | None) -> float | None:
    """Full-price tokens as money at the base input price of a million tokens; None when either is not known."""
    if billed_tokens is None or input_price_per_million is None:
        return None
    return billed_tokens * input_price_per_million / 1_000_000


def _exact(price: float) -> Fraction:
    """The number as it is written: 0.1 is a tenth, so a whole number of calls never becomes one more by rounding."""
    return Fraction(str(price))


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def _running(bills: Sequence[float | None]) -> tuple[float | None, ...]:
    return tuple(accumulate(bills, _sum))


def _last_crossing(ahead: Sequence[float | None]) -> int | None:
    """Index from which on `ahead` is never negative again; None when its end is negative or not known.

    Without a pass both ways cost the same: a session counts as ahead only from where it stops being behind.
    """
    found: int | None = None
    for index in range(len(ahead) - 1, -1, -1):
        value = ahead[index]
        if value is None or value < -_NOTHING_TOKENS:
            break
        found = index
    return found
