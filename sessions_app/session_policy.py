"""What a session's passes are made under: its project's policy, its window, and the threshold that follows.

Must not write. Settings that can't be used count as their defaults, as the engine reads them; the settings page shows
what was wrong with them.
"""

from __future__ import annotations

from compaction.policy import CompactionPolicy
from compaction.threshold import Threshold, Window, effective_threshold
from sessions_app.models import PolicyRevision, Project, Session
from sessions_app.windows import resolve_window


def policy_of(project: Project) -> CompactionPolicy:
    """The policy in force in a project."""
    return CompactionPolicy.from_mapping(project.policy_settings).policy


def newest_revision(project: Project) -> PolicyRevision | None:
    """The revision whose settings are in force; None for a project that was made without one."""
    return project.policy_revisions.order_by("-number").first()


def model_of(session: Session) -> str | None:
    """The model the session talks to, as the session says, else as its project does."""
    return session.model or session.project.main_model


def window_of(session: Session) -> Window:
    """The window as the session says, else as its project does, else as the price list knows the model."""
    return resolve_window(session.window_tokens or session.project.window_tokens, model_of(session))


def overhead_of(session: Session) -> int | None:
    """Tokens of system prompt and tool schemas that are no rows; None when nobody said."""
    own = session.fixed_overhead_tokens
    return session.project.fixed_overhead_tokens if own is None else own


def threshold_of(session: Session, policy: CompactionPolicy) -> Threshold:
    """The effective threshold of a session, with its source."""
    return effective_threshold(
        policy,
        window_of(session),
        model=model_of(session),
        aux_window_tokens=policy.auxiliary.window_tokens,
        fixed_overhead_tokens=overhead_of(session) or 0,
    )
