"""The threshold that stands with each session, kept in step with what it follows from.

It is stored so that lists can filter by occupancy and events can remember what was in force; it is worked out anew
when a session learns its model or window, and for a whole project when its settings change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sessions_app.models import Project, Session
from sessions_app.session_policy import policy_of, threshold_of

_DECIDING: Final = ("model", "window_tokens", "fixed_overhead_tokens", "policy_settings")


def set_threshold(session: Session) -> None:
    """Set the effective threshold and its source on a session that the caller saves."""
    threshold = threshold_of(session, policy_of(session))
    session.threshold_tokens = threshold.tokens
    session.threshold_source = threshold.source.value


def refresh_thresholds(project: Project) -> None:
    """Bring all sessions of a project up to date: one statement for each model, window and settings of a session's own
    that occur in it."""
    kinds = project.sessions.order_by().values(*_DECIDING).distinct()
    for kind in kinds:
        session = Session(project=project, **kind)
        threshold = threshold_of(session, policy_of(session))
        project.sessions.filter(**_matching(kind)).update(
            threshold_tokens=threshold.tokens, threshold_source=threshold.source.value
        )


def _matching(kind: Mapping[str, object]) -> dict[str, object]:
    return {f"{name}__isnull" if value is None else name: value is None or value for name, value in kind.items()}
