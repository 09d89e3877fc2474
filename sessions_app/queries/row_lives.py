"""The lives of a session's rows, for the history of its requests: those that begin or end in a stretch of its events.

Reads one narrow line for each row. What stands at events that are over never changes: rows are only born and die later,
and a life that an undo ended early moves to `RowLifetime`. So a history can be carried on from any event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from django.db.models import F, Func, Q
from django.db.models.fields import FloatField

from compaction.messages import Role, RowKind
from compaction.request_history import RowLife
from sessions_app.models import EventKind, MessageRow, RowLifetime, SessionEvent

# Ids stay far under this, so a place is one number that sorts by position and then by id.
_ID_BITS: Final = 48


class Epoch(Func):
    """A time in seconds since 1970."""

    function = "EXTRACT"
    template = "%(function)s(EPOCH FROM %(expressions)s)"
    output_field = FloatField()


def place_of(position: int, row_id: int) -> int:
    """The place of a row in the order of all rows of its session."""
    return (position << _ID_BITS) + row_id


def position_at(place: int) -> int:
    """The position that a place stands for."""
    return place >> _ID_BITS


def lives_between(session_id: int, after: int, through: int) -> list[RowLife]:
    """Every life that begins or ends at an event behind `after`, up to `through`; in two queries."""
    born = Q(born_seq__gt=after, born_seq__lte=through)
    rows = MessageRow.objects.filter(session_id=session_id).filter(born | Q(died_seq__gt=after, died_seq__lte=through))
    columns = ("id", "position", "born_seq", "died_seq", "tokens", "made_by_id", "archived_by_id", "role", "kind")
    found = rows.annotate(at_seconds=Epoch(F("at"))).values_list(*columns, "at_seconds").iterator(5_000)
    # Earlier lives are read last: one that an undo moves in between is seen twice then, and never missed.
    ended = RowLifetime.objects.filter(session_id=session_id, died_seq__gt=after, born_seq__lte=through)
    of_row = ("row__tokens", "row__made_by_id", "archived_by_id", "row__role", "row__kind")
    earlier = ended.annotate(at_seconds=Epoch(F("row__at"))).values_list(
        "row_id", "row__position", "born_seq", "died_seq", *of_row, "at_seconds"
    )
    return list(_once([*_lives(found), *_lives(earlier)]))


def reset_seqs(session_id: int, after: int, through: int) -> tuple[int, ...]:
    """The events of a stretch at which the conversation began anew."""
    resets = SessionEvent.objects.filter(session_id=session_id, kind=EventKind.RESET, seq__gt=after, seq__lte=through)
    return tuple(resets.values_list("seq", flat=True))


def _lives(found: Iterable[Any]) -> Iterator[RowLife]:
    for row_id, position, born_seq, died_seq, tokens, made_by_id, archived_by_id, role, kind, at_seconds in found:
        yield RowLife(
            row_id=row_id,
            place=place_of(position, row_id),
            born_seq=born_seq,
            died_seq=died_seq,
            tokens=tokens,
            is_made=made_by_id is not None,
            is_by_pass=archived_by_id is not None,
            is_reply=made_by_id is None and role == Role.ASSISTANT and kind == RowKind.MESSAGE,
            at_seconds=None if at_seconds is None else float(at_seconds),
        )


def _once(lives: list[RowLife]) -> Iterator[RowLife]:
    return iter({(life.row_id, life.born_seq): life for life in lives}.values())
