"""A session with everything a pass is planned under, read in one statement.

One statement, so that the settings and the revisions that are noted with the pass belong together although somebody
may save new ones meanwhile, and because every pass begins with it.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from sessions_app.models import PolicyRevision, Session, SessionPolicyRevision


@dataclass(frozen=True, slots=True)
class PlanningBase:
    """The session with its project, and the ids of the newest revisions of the settings of both; None: never saved."""

    session: Session
    policy_revision_id: int | None
    session_policy_revision_id: int | None


def planning_base(session_id: int) -> PlanningBase:
    """What the next pass of a session is planned on. Raises Session.DoesNotExist."""
    of_project = PolicyRevision.objects.filter(project_id=OuterRef("project_id"))
    of_session = SessionPolicyRevision.objects.filter(session_id=OuterRef("pk"))
    session = (
        Session.objects.select_related("project")
        .annotate(
            newest_revision_id=Subquery(of_project.order_by("-number").values("pk")[:1]),
            newest_own_revision_id=Subquery(of_session.order_by("-number").values("pk")[:1]),
        )
        .get(pk=session_id)
    )
    return PlanningBase(session, session.newest_revision_id, session.newest_own_revision_id)
