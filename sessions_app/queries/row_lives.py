"""The lives of a session's rows, for the history of its requests.

Reads one narrow line for each row, so a page of a very long session costs a second; what is worked out from them is
kept for the newest few sessions, under the event they stood at. A session that goes on has another newest event.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from django.db.models import F, Func
from django.db.models.fields import FloatField

from compaction.messages import Role, RowKind
from compaction.request_history import RequestHistory, RowLife, read_history
from sessions_app.models import EventKind, MessageRow, RowLifetime, Session, SessionEvent

HISTORIES_KEPT: Final = 8


class Epoch(Func):
    """A time in seconds since 1970."""

    function = "EXTRACT"
    template = "%(function)s(EPOCH FROM %(expressions)s)"
    output_field = FloatField()


def history_of(session: Session) -> RequestHistory:
    """All requests and changes of a session as it is now, in three queries, or in none when they are known."""
    return _history(session.pk, session.public_id, session.last_seq, session.fixed_overhead_tokens or 0)


@lru_cache(maxsize=HISTORIES_KEPT)
def _history(session_id: int, public_id: str, last_seq: int, overhead_tokens: int) -> RequestHistory:
    """The public id belongs to the key: the database of a test begins to count sessions anew."""
    resets = SessionEvent.objects.filter(session_id=session_id, kind=EventKind.RESET).values_list("seq", flat=True)
    return read_history(_lives(session_id), fixed_overhead_tokens=overhead_tokens, reset_seqs=tuple(resets))


def _lives(session_id: int) -> list[RowLife]:
    stored = MessageRow.objects.filter(session_id=session_id).order_by("position", "id")
    columns = ("id", "born_seq", "died_seq", "tokens", "made_by_id", "archived_by_id", "role", "kind", "at_seconds")
    lives = [
        RowLife(
            row_id=row_id,
            place=place,
            born_seq=born_seq,
            died_seq=died_seq,
            tokens=tokens,
            is_made=made_by_id is not None,
            is_by_pass=archived_by_id is not None,
            is_reply=made_by_id is None and role == Role.ASSISTANT and kind == RowKind.MESSAGE,
            at_seconds=None if at_seconds is None else float(at_seconds),
        )
        for place, (
            row_id,
            born_seq,
            died_seq,
            tokens,
            made_by_id,
            archived_by_id,
            role,
            kind,
            at_seconds,
        ) in enumerate(stored.annotate(at_seconds=Epoch(F("at"))).values_list(*columns).iterator(5_000))
    ]
    return [*lives, *_earlier_lives(session_id, lives)]


def _earlier_lives(session_id: int, lives: list[RowLife]) -> list[RowLife]:
    """What rows lived before an undo revived them."""
    ended = RowLifetime.objects.filter(session_id=session_id)
    found = list(ended.values_list("row_id", "born_seq", "died_seq", "archived_by_id"))
    by_id = {life.row_id: life for life in lives} if found else {}
    return [
        by_id[row_id]._replace(born_seq=born_seq, died_seq=died_seq, is_by_pass=archived_by_id is not None)
        for row_id, born_seq, died_seq, archived_by_id in found
    ]
