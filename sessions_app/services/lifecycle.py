"""How a hosted session begins, is held, fails visibly, and ends."""

from __future__ import annotations

import secrets
from typing import Final

from django.db import transaction

from compaction.storable import storable_text
from sessions_app import clock
from sessions_app.mapping import state_json, state_of
from sessions_app.models import EventKind, Project, Session, SessionStatus
from sessions_app.services.locking import lock_session, record_event, save_locked
from sessions_app.services.thresholds import set_threshold

# No vowels and nothing that looks like something else: the id is read aloud and never spells a word.
ID_ALPHABET: Final = "23456789bcdfghjkmnpqrstvwxz"
ID_LENGTH: Final = 12


def new_public_id() -> str:
    """An id for addresses, from 27 ** 12 possible ones."""
    return "".join(secrets.choice(ID_ALPHABET) for _ in range(ID_LENGTH))


def create_session(
    project: Project,
    title: str = "",
    *,
    model: str | None = None,
    window_tokens: int | None = None,
    fixed_overhead_tokens: int | None = None,
    foreign_id: str | None = None,
) -> Session:
    """A hosted session without rows. Figures that are not given are the project's, which may be unknown too.

    foreign_id: a name by which its maker finds it again; taken once per project (else IntegrityError).
    """
    public_id, now = new_public_id(), clock.now()
    overhead = project.fixed_overhead_tokens if fixed_overhead_tokens is None else fixed_overhead_tokens
    session = Session(
        project=project,
        public_id=public_id,
        foreign_id=foreign_id or public_id,
        title=storable_text(title),
        source=Session.HOSTED,
        model=model or project.main_model,
        window_tokens=project.window_tokens if window_tokens is None else window_tokens,
        fixed_overhead_tokens=overhead,
        started_at=now,
        listed_at=now,
    )
    set_threshold(session)
    session.save(force_insert=True)
    return session


def end_session(session_id: int, reason: str) -> None:
    """Note that nothing more will come. Ending an ended session changes nothing.

    The engine's state is cleared but for its totals: should more come all the same, it starts from the newest summary.
    """
    with transaction.atomic():
        session = lock_session(session_id)
        if session.status == SessionStatus.ENDED:
            return
        session.status = SessionStatus.ENDED
        session.ended_at = clock.now()
        session.end_reason = storable_text(reason)
        session.state = state_json(state_of(session.state).at_session_end())
        # A pass that is under way must not bring the state back.
        session.compaction_revision += 1
        record_event(session, EventKind.ENDED)
        save_locked(session, "status", "ended_at", "end_reason", "state")


def hold_passes(session_id: int, for_turns: int | None = None) -> None:
    """No automatic pass until `resume_passes`, or until so many more turns have begun."""
    with transaction.atomic():
        session = lock_session(session_id)
        session.is_held = True
        session.held_until_turn = None if for_turns is None else session.turns_total + for_turns
        record_event(session, EventKind.HELD)
        save_locked(session, "is_held", "held_until_turn")


def resume_passes(session_id: int) -> None:
    """Automatic passes run again."""
    with transaction.atomic():
        session = lock_session(session_id)
        if not session.is_held:
            return
        session.is_held, session.held_until_turn = False, None
        record_event(session, EventKind.RESUMED)
        save_locked(session, "is_held", "held_until_turn")


def note_failure(session_id: int, error: str) -> None:
    """Show on the session that something of ours failed; the session itself goes on."""
    with transaction.atomic():
        session = lock_session(session_id)
        session.last_error = storable_text(error)
        session.last_error_at = clock.now()
        record_event(session, EventKind.FAILED)
        save_locked(session, "last_error", "last_error_at")
