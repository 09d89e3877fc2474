"""What a token reaches: its project and what lies in it. Everything else does not exist."""

from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404

from sessions_app.access import storable_id
from sessions_app.api.errors import Refusal
from sessions_app.models import ApiToken, Project, ReplayRun, Session


def get_project(token: ApiToken, slug: str) -> Project:
    """The token's project, if that is its slug; else 404."""
    if token.project.slug != slug:
        raise Http404("another project")
    return token.project


def get_session(token: ApiToken, public_id: str) -> Session:
    """A session of the token's project, with the project; else 404."""
    sessions = Session.objects.select_related("project")
    return get_object_or_404(sessions, public_id=storable_id(public_id), project_id=token.project_id)


def get_hosted_session(token: ApiToken, public_id: str) -> Session:
    """A session of the token's project that lives here; else 404, and 409 for one whose rows are somebody else's."""
    session = get_session(token, public_id)
    if session.source != Session.HOSTED:
        raise Refusal(409, "imported", "This session was imported. Branch it, and act on the branch.")
    return session


def get_run(token: ApiToken, public_id: str, run_id: int) -> ReplayRun:
    """A replay of a session of the token's project; else 404."""
    runs = ReplayRun.objects.select_related("session")
    runs = runs.filter(session__public_id=storable_id(public_id), session__project_id=token.project_id)
    return get_object_or_404(runs, pk=run_id)
