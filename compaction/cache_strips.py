"""What a prompt cache holds around one pass: before it, after it, and had the oldest rows been cut off instead.

The three answer one question, of what a request right after the pass is made, and no other: not what the summarizer
cost, not what later requests look like. Whether the history was still cached then is the caller's to say; without
knowing it the parts are unknown and only the sizes stand.
"""

from __future__ import annotations

from dataclasses import dataclass

from compaction.cache_prices import CachePrices


@dataclass(frozen=True, slots=True)
class Strip:
    """A request of `sent_tokens`: what is served from the cache and what is billed again; both None when unknown."""

    sent_tokens: int
    cached_tokens: int | None
    rebilled_tokens: int | None

    @property
    def cached_pct(self) -> float | None:
        """Share that is served, in per cent with one decimal."""
        if self.cached_tokens is None or not self.sent_tokens:
            return None
        return round(100 * self.cached_tokens / self.sent_tokens, 1)


@dataclass(frozen=True, slots=True)
class PassStrips:
    """before: had the pass not run. after: as it left the context, the new summary among what is billed.
    truncated: cut to the same size by dropping the oldest rows behind the head; None when the head is not known."""

    before: Strip
    after: Strip
    truncated: Strip | None


def strips_of(
    prices: CachePrices,
    *,
    tokens_before: int,
    tokens_after: int,
    prefix_tokens: int,
    head_tokens: int | None,
    is_cache_warm: bool | None,
) -> PassStrips:
    """The three strips of a pass. All sizes with the fixed overhead.

    prefix_tokens: in front of the first changed row. head_tokens: overhead and head, which truncation keeps.
    is_cache_warm: whether the history was still cached; None when that is not known.
    """

    def strip(sent_tokens: int, unchanged_tokens: int) -> Strip:
        if is_cache_warm is None:
            return Strip(sent_tokens, None, None)
        cached_tokens = prices.kept_tokens(min(unchanged_tokens, sent_tokens)) if is_cache_warm else 0
        return Strip(sent_tokens, cached_tokens, sent_tokens - cached_tokens)

    return PassStrips(
        before=strip(tokens_before, tokens_before),
        after=strip(tokens_after, prefix_tokens),
        truncated=None if head_tokens is None else strip(tokens_after, head_tokens),
    )
