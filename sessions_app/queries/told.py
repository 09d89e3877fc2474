"""Rows that belong to the conversation as it was told: live or archived, but not taken back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from compaction.messages import RowKind
from sessions_app.models import MessageRow, RowLifetime, Session, ToldMessage


def told_rows(session: Session) -> QuerySet[MessageRow]:
    """The message rows of a session that no rewind and no reset took back, in no order."""
    rows = MessageRow.objects.filter(session_id=session.pk, kind=RowKind.MESSAGE.value)
    return rows.filter(Q(died_seq__isnull=True) | Q(archived_by__isnull=False, died_seq__gt=session.reset_seq or 0))


@dataclass(frozen=True, slots=True)
class KnownPrefix:
    """A session whose history begins like the one that is asked about: `known` messages are the same, of `length`.

    ends_in_answer: its last message is an assistant's.
    """

    session_id: int
    known: int
    length: int
    ends_in_answer: bool


def known_prefixes(project_id: int, prefixes: Iterable[str], most: int = 20) -> list[KnownPrefix]:
    """The sessions of a project whose history shares the longest beginning with the given one, longest first; of
    equally long ones the newest. prefixes: of each message of the history."""
    found = ToldMessage.objects.filter(project_id=project_id, prefix__in=list(prefixes))
    ends = found.order_by("-number", "-session_id").values_list("session_id", "number")
    known: dict[int, int] = {}
    for session_id, number in ends.iterator(chunk_size=200):
        known.setdefault(session_id, number + 1)
        if len(known) >= most:
            break
    ids = list(known)
    lasts = ToldMessage.objects.filter(session_id__in=ids).order_by("session_id", "-number").distinct("session_id")
    last_of = {entry.session_id: entry for entry in lasts}
    return [KnownPrefix(one, known[one], last_of[one].number + 1, last_of[one].is_answer) for one in ids]


def birth_of(row_key: int) -> tuple[int, int] | None:
    """The session of a row and the event at which it was first born; None when the row is gone."""
    row = MessageRow.objects.filter(pk=row_key).only("session_id", "born_seq").first()
    if row is None:
        return None
    earlier = RowLifetime.objects.filter(session_id=row.session_id, row_id=row.pk).order_by("born_seq")
    first = earlier.values_list("born_seq", flat=True).first()
    return row.session_id, row.born_seq if first is None else min(first, row.born_seq)
