"""What people do to a session from its page, put into calls of the services.

Must not check who may: views do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sessions_app import services
from sessions_app.action_form import Action
from sessions_app.models import Session, TurnStep


def act_on(session: Session, action: Action, given: Mapping[str, Any]) -> Session:
    """Carry out one action with the cleaned fields of its form; returns the session to show next.

    Raises services.NothingToUndo.
    """
    match action:
        case Action.MICRO:
            services.request_pass(session.pk, TurnStep.MICRO)
        case Action.BATCH:
            services.request_pass(session.pk, TurnStep.BATCH, given["focus"])
        case Action.UNDO:
            services.undo_last_pass(session.pk, given["turns"])
        case Action.HOLD:
            services.hold_passes(session.pk, given["turns"])
        case Action.RESUME:
            services.resume_passes(session.pk)
        case Action.RESET:
            services.reset_session(session.pk)
        case Action.BRANCH:
            return services.branch_session(session.pk, given["seq"])
    return session
