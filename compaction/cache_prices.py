"""What prompt caches cost and how long they last: one price table per provider, read from JSON.

Prices are multiples of a model's base input price per token, so a table holds for all models of a provider and no
currency is needed here. The table that ships with the product is data/prices.json; a project may bring its own in the
same shape. Reading refuses what can't be right and says which entry and which key.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from compaction.errors import InvalidInput
from compaction.wording import Wording, worded

_SHIPPED: Final = Path(__file__).parent / "data" / "prices.json"
_REQUIRED: Final = ("id", "read", "write", "ttl_seconds", "ttl_refreshes_on_use", "min_tokens")
_OPTIONAL: Final = ("label", "granularity_tokens", "unsure", "models")


@dataclass(frozen=True, slots=True)
class CachePrices:
    """One provider's prompt cache.

    read, write: price of a token that is read from the cache, and of one that is not, as multiples of the base input
    price. ttl_seconds: how long an entry lives since it was written, or since it was last read when
    ttl_refreshes_on_use. min_tokens: requests and prefixes below this are not cached. granularity_tokens: a cached
    prefix is a multiple of this. unsure: names of fields that no page of the provider confirmed. models: parts of the
    names of models this table is for.
    """

    id: str
    read: float
    write: float
    ttl_seconds: float
    ttl_refreshes_on_use: bool
    min_tokens: int
    granularity_tokens: int = 1
    label: str = ""
    unsure: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def is_alive(self, since_seconds: float | None, now_seconds: float | None) -> bool | None:
        """Whether what was written or last read at `since_seconds` is still cached.

        None when a time is missing or they run backwards. A provider without a cache never has anything.
        """
        if self.ttl_seconds == 0:
            return False
        if since_seconds is None or now_seconds is None or now_seconds < since_seconds:
            return None
        return now_seconds - since_seconds < self.ttl_seconds

    def kept_tokens(self, tokens: int) -> int:
        """The part of a prefix of `tokens` that the provider keeps: whole granules, nothing below the minimum."""
        whole = tokens - tokens % self.granularity_tokens
        return whole if self.ttl_seconds > 0 and whole >= self.min_tokens else 0


@dataclass(frozen=True, slots=True)
class PriceTable:
    """All price tables of one file. as_of: when the figures were read, as the file states it."""

    as_of: str
    unit: str
    note: str
    providers: tuple[CachePrices, ...]

    def named(self, provider_id: str) -> CachePrices:
        """The prices called `provider_id`. Raises InvalidInput with the known names."""
        for prices in self.providers:
            if prices.id == provider_id:
                return prices
        known = ", ".join(prices.id for prices in self.providers)
        raise InvalidInput(f"unknown price table {provider_id!r}, expected one of {known}", "price table")

    def for_model(self, model: str) -> CachePrices | None:
        """The prices whose `models` has the longest part of `model`'s name; None when no table is known for it."""
        found = [
            (len(part), prices) for prices in self.providers for part in prices.models if part.lower() in model.lower()
        ]
        return max(found, key=lambda match: match[0])[1] if found else None


@lru_cache(maxsize=1)
def shipped_price_table() -> PriceTable:
    """The table that comes with the product."""
    return read_price_table(_SHIPPED.read_bytes(), "prices.json")


def read_price_table(text: str | bytes, where: str = "price table") -> PriceTable:
    """The tables of a JSON text. Raises InvalidInput naming the entry and the key that can't be used."""
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"is not valid JSON: {error}", where) from error
    entries = loaded.get("providers") if isinstance(loaded, Mapping) else None
    if not isinstance(entries, list) or not entries:
        raise InvalidInput("must be an object with a list of providers that is not empty", where)
    providers = tuple(_prices(entry, f"{where}, provider {number}") for number, entry in enumerate(entries, 1))
    ids = [prices.id for prices in providers]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise InvalidInput(f"these ids stand there more than once: {', '.join(twice)}", where)
    as_of, unit, note = (str(loaded.get(key, "")) for key in ("as_of", "unit", "note"))
    return PriceTable(as_of, unit, note, providers)


def _prices(entry: Any, where: str) -> CachePrices:
    if not isinstance(entry, Mapping):
        raise InvalidInput("must be an object", where)
    missing = [key for key in _REQUIRED if key not in entry]
    unknown = sorted(set(entry) - {*_REQUIRED, *_OPTIONAL})
    if missing or unknown:
        faults = [f"missing: {', '.join(missing)}"] * bool(missing) + [f"unknown: {', '.join(unknown)}"] * bool(unknown)
        raise InvalidInput("; ".join(faults), where)
    prices = CachePrices(
        id=_text(entry, "id", where),
        read=_number(entry, "read", where),
        write=_number(entry, "write", where),
        ttl_seconds=_number(entry, "ttl_seconds", where),
        ttl_refreshes_on_use=_switch(entry, "ttl_refreshes_on_use", where),
        min_tokens=_whole(entry, "min_tokens", where, lowest=0),
        granularity_tokens=_whole({"granularity_tokens": 1, **entry}, "granularity_tokens", where, lowest=1),
        label=_label(_text({"label": entry["id"], **entry}, "label", where)),
        unsure=_texts(entry, "unsure", where),
        models=_texts(entry, "models", where),
    )
    if odd := sorted(set(prices.unsure) - {*_REQUIRED, *_OPTIONAL}):
        raise InvalidInput(f"unsure names keys that don't exist: {', '.join(odd)}", where)
    return prices


def _label(text: str) -> Wording:
    """A name as it is told in other languages: that of a table that ships with the product is in their catalogues."""
    return worded(text.replace("{", "{{").replace("}", "}}"))


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    value = entry[key]
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{key} must be a text that is not blank", where)
    return value


def _texts(entry: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    values = entry.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) and value.strip() for value in values):
        raise InvalidInput(f"{key} must be a list of texts", where)
    return tuple(values)


def _number(entry: Mapping[str, Any], key: str, where: str) -> float:
    value = entry[key]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < 0:
        raise InvalidInput(f"{key} must be a number of at least 0", where)
    return float(value)


def _whole(entry: Mapping[str, Any], key: str, where: str, *, lowest: int) -> int:
    value = entry[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < lowest:
        raise InvalidInput(f"{key} must be a whole number of at least {lowest}", where)
    return value


def _switch(entry: Mapping[str, Any], key: str, where: str) -> bool:
    value = entry[key]
    if not isinstance(value, bool):
        raise InvalidInput(f"{key} must be true or false", where)
    return value
