"""What people do to a session from its page, put into calls of the services and into the audit log.

Must not check who may: views do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction

from sessions_app import services
from sessions_app.action_form import Action
from sessions_app.models import AuditAction, Session, TurnStep
from sessions_app.services.audit import AuditOrigin

# What a session has lost or given away; passes by hand and holds are told by the session itself.
_AUDITED: Final = {
    Action.UNDO: AuditAction.SESSION_UNDONE,
    Action.RESET: AuditAction.SESSION_RESET,
    Action.BRANCH: AuditAction.SESSION_BRANCHED,
}


def act_on(origin: AuditOrigin, session: Session, action: Action, given: Mapping[str, Any]) -> Session:
    """Carry out one action with the cleaned fields of its form; returns the session to show next.

    Raises services.NothingToUndo.
    """
    with transaction.atomic():
        shown = _carry_out(session, action, given)
        if audited := _AUDITED.get(action):
            details = (("branch", shown.public_id),) if shown.pk != session.pk else ()
            services.record_audit(origin, audited, project=session.project, subject=session.public_id, details=details)
    return shown


def _carry_out(session: Session, action: Action, given: Mapping[str, Any]) -> Session:
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
