"""Which session a request belongs to.

A client that names its session gets that one; a name that is not known becomes a new session of that name. A client
that names none is found by its history: the session whose history it continues. When the two part, the named session
follows its client. An unnamed one may be another conversation that began in the same way, so it is left alone and the
request goes on in a branch of it, unless only the last answer differs, or in a session of its own as long as no answer
was told back: everybody begins with the same few words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sessions_app.gateway.asking import Asked
from sessions_app.gateway.refusals import refusal
from sessions_app.models import CallPurpose, ModelCall, Project, Session, Turn
from sessions_app.queries.told import KnownPrefix, known_prefixes
from sessions_app.services.branching import BRANCH
from sessions_app.services.lifecycle import create_session
from sessions_app.services.opening import Opening, open_session
from sessions_app.services.telling import MustBranch, Reconciled, branch_told, reconcile
from sessions_app.token_counting import site_counter

# A request that always leaves the branch it was given must end somewhere.
_MOST_BRANCHES: Final = 3
_DEEPEST_BRANCH: Final = 100


@dataclass(frozen=True, slots=True)
class Placed:
    """The session of a request, with the told history stored."""

    session: Session
    reconciled: Reconciled


def place(project: Project, asked: Asked) -> Placed:
    """Find or make the session and bring its history up to what was told."""
    session = _named(project, asked) if asked.session_name else _found(project, asked)
    for _ in range(_MOST_BRANCHES):
        done = reconcile(session.pk, asked.told, site_counter())
        if isinstance(done, Reconciled):
            return Placed(session, done)
        session = _elsewhere(session, asked, done)
    session = _fresh(project, asked)
    done = reconcile(session.pk, asked.told, site_counter())
    assert isinstance(done, Reconciled), "a session without rows has nothing to branch from"
    return Placed(session, done)


def _fresh(project: Project, asked: Asked) -> Session:
    return create_session(project, asked.title, model=asked.model or None)


def _named(project: Project, asked: Asked) -> Session:
    """The session of that public id, or of that name of the client's own. Raises GatewayRefusal for one that was
    imported: what a client no longer says would be taken back, and its rows are somebody else's."""
    sessions = Session.objects.select_related("project").filter(project=project)
    found = sessions.filter(public_id=asked.session_name).first()
    if found is not None and found.source != Session.HOSTED:
        message = "This session was imported. Branch it, and name the branch."
        raise refusal(400, message, "imported", param="X-Hermes-Session")
    if found is not None:
        return found
    opening = Opening(title=asked.title, client_id=asked.session_name, model=asked.model or None)
    return open_session(project, opening)[0]


def _found(project: Project, asked: Asked) -> Session:
    """The session that the told history continues, a branch of it, or a new one."""
    for known in known_prefixes(project.pk, [one.prefix for one in asked.told]):
        if _continues(known, asked):
            return Session.objects.select_related("project").get(pk=known.session_id)
        if any(one.is_answer for one in asked.told[: known.known]):
            branch = branch_told(known.session_id, known.known)
            return branch if branch is not None else _fresh(project, asked)
    return _fresh(project, asked)


def _continues(known: KnownPrefix, asked: Asked) -> bool:
    """Whether a request goes on with this session: it tells all of its history, or all but the last answer."""
    left, new = known.length - known.known, len(asked.told) - known.known
    is_told_back = any(one.is_answer for one in asked.told[: known.known])
    if left == 0:
        return new > 0 or is_told_back or asked.is_retry or _failed(known.session_id)
    if left > 1 or not known.ends_in_answer:
        return False
    if new == 0:
        return is_told_back or asked.is_retry or _was_interrupted(known.session_id)
    return is_told_back and asked.told[known.known].is_answer


def _failed(session_id: int) -> bool:
    """Whether the last call of a session to its main model failed."""
    calls = ModelCall.objects.filter(session_id=session_id, purpose=CallPurpose.MAIN)
    return bool(calls.order_by("-id").values_list("error", flat=True).first())


def _was_interrupted(session_id: int) -> bool:
    """Whether the newest answer of a session was broken off."""
    turns = Turn.objects.filter(session_id=session_id).order_by("-number")
    return bool(turns.values_list("interrupted", flat=True).first())


def _elsewhere(session: Session, asked: Asked, left: MustBranch) -> Session:
    """Where a history goes on that leaves `session` too far back: in a branch that already follows it further, else in
    a new branch, else in a session of its own."""
    for known in known_prefixes(session.project_id, [one.prefix for one in asked.told]):
        if known.known > left.known and _is_branch_of(known.session_id, session.pk):
            return Session.objects.select_related("project").get(pk=known.session_id)
    return branch_told(session.pk, left.known) or _fresh(session.project, asked)


def _is_branch_of(session_id: int, root_id: int) -> bool:
    current = session_id
    for _ in range(_DEEPEST_BRANCH):
        parents = Session.objects.filter(pk=current, parent_link=BRANCH)
        parent = parents.values_list("parent_id", flat=True).first()
        if parent is None or parent == root_id:
            return parent == root_id
        current = parent
    return False
