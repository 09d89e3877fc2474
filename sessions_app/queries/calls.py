"""What calls to models came to: pages of the ledger of a session, and sums over it.

Sums are of what is known. How many calls did not say stands beside them, so that nobody takes a part for the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Q, Sum

from sessions_app.models import CallPurpose, ModelCall


@dataclass(frozen=True, slots=True)
class CallTotals:
    """Sums over calls; each is None when no call reported its figure. input includes cached, output the reasoning.

    unpriced_calls: calls whose cost is unknown. unreported_calls: calls that reported no tokens, failed ones included.
    """

    calls: int
    failed_calls: int
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: Decimal | None
    unpriced_calls: int
    unreported_calls: int
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class CallPage:
    """Some calls with their passes, oldest first. next_after: the id to go on behind, None at the end."""

    calls: tuple[ModelCall, ...]
    next_after: int | None


def read_call_page(session_id: int, after: int, limit: int, purpose: CallPurpose | None = None) -> CallPage:
    """Up to `limit` calls of a session behind the one with id `after`."""
    calls = ModelCall.objects.filter(session_id=session_id, id__gt=after).select_related("compaction_pass")
    if purpose is not None:
        calls = calls.filter(purpose=purpose)
    found = list(calls.order_by("id")[: limit + 1])
    shown = tuple(found[:limit])
    return CallPage(shown, shown[-1].pk if len(found) > limit else None)


def totals_of_session(session_id: int) -> CallTotals:
    """All calls made for a session."""
    sums = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cost_usd", "duration_ms")
    return CallTotals(
        **ModelCall.objects.filter(session_id=session_id).aggregate(
            calls=Count("id"),
            failed_calls=Count("id", filter=~Q(error="")),
            unpriced_calls=Count("id", filter=Q(cost_usd__isnull=True)),
            unreported_calls=Count("id", filter=Q(input_tokens__isnull=True, output_tokens__isnull=True)),
            **{name: Sum(name) for name in sums},
        )
    )
