"""Passes of a session without their texts, and the places at which those stand that archived no row.

A defrag stands at the cursor, a failed pass at the exchange it failed on, any other where the session had got to when
it ran.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import BigIntegerField, Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Coalesce

from compaction.messages import RowKind
from sessions_app.models import CompactionPass, MessageRow, Session
from sessions_app.pages.flow import Key

_LIGHT = (
    *("id", "session_id", "number", "kind", "outcome", "reason", "detail", "origin", "seq", "at", "turn", "committed"),
    *("exchanges", "cursor_before_position", "cursor_before_id", "tokens_before", "tokens_after", "duration_ms"),
    *("rolling_summary_tokens", "exchange_tokens", "undone_seq", "is_opaque", "unknown_archived", "aux_model"),
    *("counted_tokens_before", "counted_tokens_after", "trigger"),
)


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


def silent_passes(session: Session, lower: Key | None, upper: Key | None) -> list[PlacedPass]:
    """The passes that archived no row and whose place lies between two keys, in the order of their numbers."""
    archived = MessageRow.objects.filter(
        session_id=session.pk,
        archived_by_id=OuterRef("id"),
        kind__in=(RowKind.MESSAGE.value, RowKind.PRUNE_STUB.value),
    )
    first_of_exchange = Cast(
        KeyTextTransform("0", KeyTransform("first", KeyTransform("0", "exchanges"))), BigIntegerField()
    )
    passes = light_passes(session.pk).annotate(place=Coalesce(first_of_exchange, "cursor_before_position"))
    if lower is not None:
        passes = passes.filter(Q(place__isnull=True) | Q(place__gte=lower[0]))
    if upper is not None:
        passes = passes.filter(Q(place__isnull=True) | Q(place__lte=upper[0]))
    found = [PlacedPass(one, place_of(session, one)) for one in passes.filter(~Exists(archived))]
    return [one for one in found if (lower is None or one.key > lower) and (upper is None or one.key <= upper)]


def place_of(session: Session, made_by: CompactionPass) -> Key:
    """Where a pass stands."""
    if made_by.exchanges:
        position, row_id = made_by.exchanges[0]["first"]
        return position, row_id
    if made_by.cursor_before_position is not None:
        return made_by.cursor_before_position, made_by.cursor_before_id or 0
    newest = (
        MessageRow.objects.filter(session_id=session.pk, born_seq__lt=made_by.seq, kind=RowKind.MESSAGE.value)
        .order_by("-born_seq", "-position")
        .values_list("position", "id")
        .first()
    )
    return (newest[0], newest[1] + 1) if newest else (0, 0)
