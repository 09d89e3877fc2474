"""The ledger of calls to models: written with what the calls were for, and never changed.

A call costs money whatever becomes of its answer, so calls of passes that failed or came too late are entered too. The
ledger serves the answers and never costs one: an entry that can't be written is logged and told on the session, and
what the call brought is stored all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction

from compaction.storable import storable_text
from compaction.summarizer import Reply
from compaction.wording import worded
from sessions_app.mapping import storable_count, storable_or_none
from sessions_app.models import CallPurpose, CompactionPass, ModelCall
from sessions_app.services.losses import tell_loss

_LARGEST_COST_USD = Decimal(10) ** 7


@dataclass(frozen=True, slots=True)
class ContextSent:
    """What of a session went to the main model, after which wait.

    seq: the event whose live rows were sent. tokens: with the fixed overhead. repairs: kinds of repair, in order.
    waited_ms: waited for passes before; went_ahead: one was still under way all the same.
    """

    seq: int
    rows: int
    tokens: int
    repairs: tuple[str, ...] = ()
    waited_ms: int = 0
    went_ahead: bool = False


@dataclass(frozen=True, slots=True)
class CallMade:
    """One question and what came back. at: when it was put. endpoint: address without its query, empty for none.

    model: as asked for; the reply's own word wins. cost_usd: dollars, None when unknown. sent: for the main model.
    """

    purpose: CallPurpose
    at: datetime
    reply: Reply
    provider: str = ""
    endpoint: str = ""
    model: str | None = None
    cost_usd: Decimal | None = None
    sent: ContextSent | None = None


def record_calls(session_id: int, calls: Sequence[CallMade], made: CompactionPass | None = None) -> None:
    """Enter `calls`, for the pass they were made for if it is stored. Raises nothing."""
    if not calls:
        return
    try:
        with transaction.atomic():
            ModelCall.objects.bulk_create([_entry(session_id, call, made) for call in calls])
    except Exception as error:
        tell_loss(session_id, worded("A call to a model is missing in the ledger"), error)


def _entry(session_id: int, call: CallMade, made: CompactionPass | None) -> ModelCall:
    usage = call.reply.usage
    return ModelCall(
        session_id=session_id,
        compaction_pass=made,
        at=call.at,
        purpose=call.purpose,
        provider=storable_text(call.provider),
        endpoint=storable_text(call.endpoint),
        model=storable_or_none(call.reply.model or call.model or None),
        input_tokens=storable_count(usage.input_tokens),
        output_tokens=storable_count(usage.output_tokens),
        cached_tokens=storable_count(usage.cached_tokens),
        reasoning_tokens=storable_count(usage.reasoning_tokens),
        cost_usd=_storable_cost(call.cost_usd),
        duration_ms=storable_count(call.reply.duration_ms),
        first_token_ms=storable_count(call.reply.first_token_ms),
        error=storable_text(call.reply.error),
        **_sent_columns(call.sent),
    )


def _sent_columns(sent: ContextSent | None) -> dict[str, Any]:
    if sent is None:
        return {}
    return {
        "context_seq": sent.seq,
        "context_rows": sent.rows,
        "context_tokens": sent.tokens,
        "repairs": list(sent.repairs),
        "waited_ms": sent.waited_ms,
        "went_ahead": sent.went_ahead,
    }


def _storable_cost(cost_usd: Decimal | None) -> Decimal | None:
    """A cost that fits its column; an absurd one is unknown."""
    return cost_usd if cost_usd is not None and 0 <= cost_usd < _LARGEST_COST_USD else None
