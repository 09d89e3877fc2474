"""Under what the bills of a session hold: a price table, a model, and whether pauses count.

Must not query. An assumption has a fingerprint, so that stored figures are taken only for the question they answer.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Final

from compaction.cache_prices import CachePrices, shipped_price_table
from sessions_app.models import Session
from sessions_app.pricing import base_price_usd

# Grows when the same question comes to be counted or stored in another way.
_COUNTING: Final = 1


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


def assume(table_id: str, model: str, session: Session, *, has_no_pauses: bool) -> CacheAssumption:
    """The assumption for a session. An empty table is the one of the model, else the first; an empty model its own."""
    tables = shipped_price_table()
    model = model or session.model or ""
    named = next((prices for prices in tables.providers if prices.id == table_id), None)
    found = named or tables.for_model(model)
    prices = found or tables.providers[0]
    return CacheAssumption(prices, found is not None, model, base_price_usd(model), has_no_pauses)


def fingerprint_of(session: Session, assumption: CacheAssumption) -> str:
    """Names everything that a session's bills depend on beside its rows and passes."""
    told = [
        *(_COUNTING, version("genai-prices"), asdict(assumption.prices)),
        *(assumption.model, assumption.has_no_pauses, session.fixed_overhead_tokens or 0),
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
