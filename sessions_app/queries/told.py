"""Rows that belong to the conversation as it was told: live or archived, but not taken back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection
from django.db.models import Q, QuerySet

from compaction.messages import RowKind
from sessions_app.models import MessageRow, RowLifetime, Session, ToldMessage

# So many messages of a history are looked up first: more than come between two requests.
FIRST_STRETCH: Final = 16


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


def known_prefixes(project_id: int, prefixes: Sequence[str], most: int = 20) -> Iterator[KnownPrefix]:
    """The sessions of a project whose history shares the longest beginning with the given one, longest first; of
    equally long ones the newest. prefixes: of each message of the history, in order.

    Sought from the end, a stretch at a time: a history that goes on is known almost to its end, and its first words may
    be those of any number of sessions.
    """
    seen: dict[int, int] = {}
    for start, stretch in _from_the_end(prefixes):
        known: dict[int, int] = {}
        for session_id, number in _sharing(project_id, start, stretch, most):
            if session_id not in seen and session_id not in known and len(seen) + len(known) < most:
                known[session_id] = number
        seen |= known
        yield from _known(known)
        if len(seen) >= most:
            return


# Each beginning has its newest sessions at the front of an index, however many began like that.
SHARING_SQL: Final = """
SELECT told.session_id, wanted.place FROM unnest(%(prefixes)s::text[]) WITH ORDINALITY AS wanted(prefix, place)
CROSS JOIN LATERAL (
    SELECT session_id FROM sessions_app_toldmessage
    WHERE project_id = %(project)s AND prefix = wanted.prefix ORDER BY session_id DESC LIMIT %(most)s
) AS told ORDER BY wanted.place DESC, told.session_id DESC
"""


def _sharing(project_id: int, start: int, stretch: Sequence[str], most: int) -> list[tuple[int, int]]:
    """Sessions with the number of a message up to which they share the history, longest first, newest first; of each
    length the `most` newest. start: the number of the stretch's first message."""
    with connection.cursor() as cursor:
        cursor.execute(SHARING_SQL, {"prefixes": list(stretch), "project": project_id, "most": most})
        return [(session_id, start + place - 1) for session_id, place in cursor.fetchall()]


def _from_the_end(prefixes: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Stretches with the number of their first message."""
    end, length = len(prefixes), FIRST_STRETCH
    while end > 0:
        start = max(end - length, 0)
        yield start, prefixes[start:end]
        end, length = end - length, length * 8


def _known(last_number: Mapping[int, int]) -> Iterator[KnownPrefix]:
    """The sessions with the number of the last message that is known in them, in the same order."""
    lasts = ToldMessage.objects.filter(session_id__in=last_number).order_by("session_id", "-number")
    last_of = {entry.session_id: entry for entry in lasts.distinct("session_id")}
    for session_id, number in last_number.items():
        # Somebody may be deleting it.
        if (end := last_of.get(session_id)) is not None:
            yield KnownPrefix(session_id, number + 1, end.number + 1, end.is_answer)


def birth_of(row_key: int) -> tuple[int, int] | None:
    """The session of a row and the event at which it was first born; None when the row is gone."""
    row = MessageRow.objects.filter(pk=row_key).only("session_id", "born_seq").first()
    if row is None:
        return None
    earlier = RowLifetime.objects.filter(session_id=row.session_id, row_id=row.pk).order_by("born_seq")
    first = earlier.values_list("born_seq", flat=True).first()
    return row.session_id, row.born_seq if first is None else min(first, row.born_seq)
