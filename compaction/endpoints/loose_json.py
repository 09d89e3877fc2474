"""Values out of JSON that somebody else wrote: what has the expected type is taken, anything else is absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compaction.storable import storable_text


def as_object(value: object) -> Mapping[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> Sequence[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def text_of(mapping: Mapping[str, Any], *keys: str) -> str | None:
    """The first text under `keys` that is not empty, fit for storing; else None."""
    for key in keys:
        value = mapping.get(key)
        if isinstance(value, str) and value:
            return storable_text(value)
    return None


def piece_of(mapping: Mapping[str, Any], *keys: str) -> str:
    """The first text under `keys` just as it is, or "": a piece may hold half of a character."""
    return next((value for key in keys if isinstance(value := mapping.get(key), str) and value), "")


def count_of(mapping: Mapping[str, Any], *keys: str) -> int | None:
    """The first whole number of at least 0 under `keys`; else None: unknown is never 0."""
    for key in keys:
        value = mapping.get(key)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
