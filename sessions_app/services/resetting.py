"""Resetting a session: the conversation begins anew under the same address, and what was said stays readable.

A summary that stayed live would bring the cleared summary back with the next pass, and reviving what it stands for
would fill the window; so all live rows but the system prompt leave the context, by no pass, and the engine starts from
nothing. Rows, passes and summaries stay in the archive, and every earlier moment can be looked at as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.db.models import Max, QuerySet

from compaction.messages import Role, RowKind
from compaction.state import CompactionState
from sessions_app import clock
from sessions_app.counters import Counters
from sessions_app.mapping import state_json
from sessions_app.models import EventKind, MessageRow, Session
from sessions_app.services.locking import event_at, lock_session, save_locked, tell
from sessions_app.services.turns import end_abandoned_turns

_PROMPT_ROLES: Final = (Role.SYSTEM.value, Role.DEVELOPER.value)


@dataclass(frozen=True, slots=True)
class ResetDone:
    """The session was reset at event `seq`; so many rows left the live context."""

    seq: int
    rows: int


def reset_session(session_id: int) -> ResetDone:
    """Take everything but the system prompt out of the live context and clear the engine's state, its totals included.

    Passes from before can't be undone any more. A hold stays. Raises Session.DoesNotExist.
    """
    with transaction.atomic():
        session = lock_session(session_id)
        session.last_seq += 1
        session.reset_seq = session.last_seq
        leaving = rows_behind_prompt(session_id)
        places = leaving.aggregate(last=Max("position"))
        first = leaving.order_by("position").values_list("position", flat=True).first()
        count = _rewind(session, leaving)
        end_abandoned_turns(session_id, session.turns_total + 1)
        session.state = state_json(CompactionState())
        session.compaction_revision += 1
        session.last_error, session.last_error_at = "", None
        event = event_at(
            session,
            session.last_seq,
            EventKind.RESET,
            at=clock.now(),
            first_position=first,
            last_position=places["last"],
        )
        event.save(force_insert=True)
        save_locked(session, "state", "reset_seq", "last_error", "last_error_at")
        tell(session, EventKind.RESET)
    return ResetDone(session.last_seq, count)


def rows_behind_prompt(session_id: int) -> QuerySet[MessageRow]:
    """The live rows from the first one on that is no system prompt."""
    live = MessageRow.objects.filter(session_id=session_id, died_seq__isnull=True)
    said = live.exclude(role__in=_PROMPT_ROLES, kind=RowKind.MESSAGE.value).order_by("position")
    first = said.values_list("position", flat=True).first()
    return live.none() if first is None else live.filter(position__gte=first)


def _rewind(session: Session, leaving: QuerySet[MessageRow]) -> int:
    counters = Counters(session)
    for kind, role, tokens in leaving.values_list("kind", "role", "tokens"):
        counters.rewound(RowKind(kind), Role(role), tokens)
    return leaving.update(died_seq=session.last_seq)
