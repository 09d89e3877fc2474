"""Stored sessions for commands: by the id in their address, or by the one their source gave them."""

from __future__ import annotations

from compaction.command_arguments import FedSession
from compaction.errors import InvalidInput
from compaction.tokens import TokenCounter
from sessions_app.mapping import storable_id
from sessions_app.models import Project, Session
from sessions_app.queries.replay_rows import rows_for_replay
from sessions_app.session_policy import model_of, newest_revision, overhead_of, policy_of


def session_of_store(name: str, counter: TokenCounter) -> FedSession:
    """The session called `name`, with its project's settings.

    Raises InvalidInput when there is none, are several, or it holds no rows.
    """
    session = find_session(name)
    rows = rows_for_replay(session.pk, counter)
    if not rows:
        raise InvalidInput("the session holds no rows", name)
    window_tokens = session.window_tokens or session.project.window_tokens
    notice, policy = _settings_notice(session.project), policy_of(session)
    return FedSession(rows, model_of(session), window_tokens, overhead_of(session) or 0, notice, policy)


def _settings_notice(project: Project) -> str:
    revision = newest_revision(project)
    which = "default settings" if revision is None else f"settings revision {revision.number}"
    return f"replayed under {which} of project {project.slug}, with --config and --set on top"


def find_session(name: str) -> Session:
    """The session called `name`. Raises InvalidInput when there is none, or when several have that id."""
    sessions = Session.objects.select_related("project")
    found = sessions.filter(public_id=name).first()
    if found is not None:
        return found
    named = list(sessions.filter(foreign_id=storable_id(name))[:2])
    if not named:
        raise InvalidInput("there is no such session", name)
    if len(named) > 1:
        raise InvalidInput("several sessions have this id at their source; give the one in the address", name)
    return named[0]
