"""Passes of a session without their texts, and the places at which those stand that archived no row.

A defrag stands at the cursor, a failed pass at the exchange it failed on, any other where the session had got to when
it ran.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import BigIntegerField, Exists, OuterRef, QuerySet, Subquery, Value
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Coalesce

from compaction.messages import RowKind
from sessions_app.models import CompactionPass, MessageRow, Session
from sessions_app.pages.flow import Key

# A window shows this many passes that archived nothing, the newest ones; the ledger lists all of them.
MOST_SILENT = 200
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
    """The newest passes that archived no row and whose place lies between two keys, in the order of their numbers.

    At most `MOST_SILENT`, with two queries whatever their number.
    """
    archived = MessageRow.objects.filter(
        session_id=session.pk,
        archived_by_id=OuterRef("id"),
        kind__in=(RowKind.MESSAGE.value, RowKind.PRUNE_STUB.value),
    )
    first_of_exchange = Cast(
        KeyTextTransform("0", KeyTransform("first", KeyTransform("0", "exchanges"))), BigIntegerField()
    )
    place = Coalesce(first_of_exchange, "cursor_before_position", newest_row("position"), Value(0))
    passes = light_passes(session.pk).annotate(place=place).filter(~Exists(archived))
    if lower is not None:
        passes = passes.filter(place__gte=lower[0])
    if upper is not None:
        passes = passes.filter(place__lte=upper[0])
    newest = list(passes.order_by("-number")[:MOST_SILENT])[::-1]
    keys = keys_by_time(one for one in newest if known_key(one) is None)
    found = [PlacedPass(one, known_key(one) or keys[one.pk]) for one in newest]
    return [one for one in found if (lower is None or one.key > lower) and (upper is None or one.key <= upper)]


def place_of(made_by: CompactionPass) -> Key:
    """Where a pass stands."""
    return known_key(made_by) or keys_by_time([made_by])[made_by.pk]


def known_key(made_by: CompactionPass) -> Key | None:
    """Where a pass stands by its own record; None when that names neither an exchange nor a cursor."""
    if made_by.exchanges:
        position, row_id = made_by.exchanges[0]["first"]
        return position, row_id
    if made_by.cursor_before_position is not None:
        return made_by.cursor_before_position, made_by.cursor_before_id or 0
    return None


def keys_by_time(passes: Iterable[CompactionPass]) -> dict[int, Key]:
    """For each pass the key behind the newest row that was there when it ran, by the pass's id."""
    ids = [one.pk for one in passes]
    if not ids:
        return {}
    placed = CompactionPass.objects.filter(id__in=ids).annotate(
        newest_position=newest_row("position"), newest_id=newest_row("id")
    )
    found = placed.values_list("id", "newest_position", "newest_id")
    return {pk: (0, 0) if position is None else (position, row_id + 1) for pk, position, row_id in found}


def newest_row(column: str) -> Subquery:
    """A column of the newest message row that was there when the pass of the outer query ran."""
    rows = MessageRow.objects.filter(
        session_id=OuterRef("session_id"), born_seq__lt=OuterRef("seq"), kind=RowKind.MESSAGE.value
    )
    return Subquery(rows.order_by("-born_seq", "-position").values(column)[:1])
