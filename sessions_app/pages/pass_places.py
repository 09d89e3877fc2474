"""Passes of a session without their texts, and the places at which those stand that archived no row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Q, QuerySet

from sessions_app.models import CompactionPass, Session
from sessions_app.pages.flow import Key

# A window shows this many passes that archived nothing, the newest ones; the ledger lists all of them.
MOST_SILENT = 200
_LIGHT = (
    *("id", "session_id", "number", "kind", "outcome", "reason", "detail", "origin", "seq", "at", "turn", "committed"),
    *("exchanges", "cursor_before_position", "cursor_before_id", "tokens_before", "tokens_after", "duration_ms"),
    *("rolling_summary_tokens", "exchange_tokens", "undone_seq", "is_opaque", "unknown_archived", "aux_model"),
    *("counted_tokens_before", "counted_tokens_after", "trigger", "place_position", "place_id"),
)


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a session: what stands behind `lower` and not behind `upper`; None where it begins or ends itself."""

    lower: Key | None
    upper: Key | None

    def holds(self, key: Key) -> bool:
        """Whether something with this key stands in it."""
        return (self.lower is None or key > self.lower) and (self.upper is None or key <= self.upper)


@dataclass(frozen=True, slots=True)
class PlacedPass:
    """A pass and the key in front of which it stands."""

    made_by: CompactionPass
    key: Key


def light_passes(session_id: int) -> QuerySet[CompactionPass]:
    """The passes of a session in order, without prompts and replies."""
    return CompactionPass.objects.filter(session_id=session_id).only(*_LIGHT).order_by("number")


def passes_by_id(session_id: int, ids: Iterable[int | None]) -> dict[int, CompactionPass]:
    """These passes of a session."""
    wanted = {one for one in ids if one is not None}
    return {one.pk: one for one in light_passes(session_id).filter(id__in=wanted)} if wanted else {}


def silent_passes(session: Session, windows: Sequence[Window]) -> list[PlacedPass]:
    """The newest passes that archived no row and that stand in one of the windows, in the order of their numbers; at
    most `MOST_SILENT`."""
    if not session.passes_total or not windows:
        return []
    passes = light_passes(session.pk).filter(place_position__isnull=False)
    if not any(window.lower is None and window.upper is None for window in windows):
        passes = passes.filter(reduce(or_, (_within(window) for window in windows)))
    newest = list(passes.order_by("-number")[:MOST_SILENT])
    return [PlacedPass(one, own_place(one)) for one in reversed(newest)]


def _within(window: Window) -> Q:
    """What `Window.holds` says, for places in the database. The bounds on the position alone lead along the index."""
    lower, upper = window.lower, window.upper
    found = Q()
    if lower is not None:
        found &= Q(place_position__gte=lower[0])
        found &= Q(place_position__gt=lower[0]) | Q(place_id__gt=lower[1])
    if upper is not None:
        found &= Q(place_position__lte=upper[0])
        found &= Q(place_position__lt=upper[0]) | Q(place_id__lte=upper[1])
    return found


def own_place(made_by: CompactionPass) -> Key:
    """Where a pass that archived no row stands. Raises ValueError for another one."""
    if made_by.place_position is None or made_by.place_id is None:
        raise ValueError(f"pass {made_by.number} stands where the rows are that it archived")
    return made_by.place_position, made_by.place_id
