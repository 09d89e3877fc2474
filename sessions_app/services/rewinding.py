"""Rewinding a session: its newest rows are taken back, as if they had never been said.

They leave the live context without a pass and stay readable. Only rows that no pass has folded away can be taken back
in place: a summary can't forget. Whoever wants to go back further branches the session.
"""

from __future__ import annotations

from django.db import transaction

from compaction.errors import InvalidInput
from compaction.messages import Role, RowKind
from compaction.wording import worded
from sessions_app import clock
from sessions_app.counters import Counters
from sessions_app.models import EventKind, MessageRow, Session, Turn
from sessions_app.queries.told import told_rows
from sessions_app.services.locking import lock_session, next_event, save_locked, tell
from sessions_app.services.turns import reopen_turn


def can_rewind(session: Session, position: int) -> bool:
    """Whether all that was said from `position` on is still live as it was said."""
    return not told_rows(session).filter(position__gte=position, died_seq__isnull=False).exists()


def rewind_session(session_id: int, position: int) -> int:
    """Take back everything from `position` on; returns how many rows left.

    Raises Session.DoesNotExist, and InvalidInput when a pass has folded some of it away.
    """
    with transaction.atomic():
        session = lock_session(session_id)
        if not can_rewind(session, position):
            raise InvalidInput(worded("some of these rows were compacted; branch the session instead"), "position")
        leaving = MessageRow.objects.filter(session_id=session_id, position__gte=position, died_seq__isnull=True)
        stamped = list(leaving.order_by("position").values_list("position", "kind", "role", "tokens", "turn"))
        if not stamped:
            return 0
        counters = Counters(session)
        for _, kind, role, tokens, _ in stamped:
            counters.rewound(RowKind(kind), Role(role), tokens)
        event = next_event(
            session,
            EventKind.REWOUND,
            at=clock.now(),
            first_position=stamped[0][0],
            last_position=stamped[-1][0],
        )
        event.save(force_insert=True)
        leaving.update(died_seq=event.seq)
        _reopen(session, position)
        # A pass that is under way was planned on rows that are gone.
        session.compaction_revision += 1
        save_locked(session)
        tell(session, EventKind.REWOUND)
    return len(stamped)


def _reopen(session: Session, position: int) -> None:
    """The newest turn goes on when its request was said before `position`."""
    turn = Turn.objects.filter(session_id=session.pk, number=session.turns_total).first()
    if turn is not None and turn.first_position < position <= turn.last_position:
        reopen_turn(session.pk, turn.number, position - 1)
