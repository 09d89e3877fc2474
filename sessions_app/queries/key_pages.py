"""Lists by key: the newest first, a page at a time, each page in one query however long the list is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet

Item = TypeVar("Item", bound=Model)


@dataclass(frozen=True, slots=True)
class KeyPage(Generic[Item]):
    """Some items. older: the `before` of the next ones; None at the end. is_first: nothing newer was skipped."""

    items: tuple[Item, ...]
    older: int | None
    is_first: bool


def read_key_page(found: QuerySet[Item], before: int | None, size: int) -> KeyPage[Item]:
    """At most `size` items with ids below `before`, the newest first."""
    beyond: QuerySet[Any] = found if before is None else found.filter(pk__lt=before)
    items = tuple(beyond.order_by("-pk")[: size + 1])
    older = items[size - 1].pk if len(items) > size else None
    return KeyPage(items[:size], older, before is None)
