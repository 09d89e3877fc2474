"""What the pages that delete a project say: what would go, and how far a deletion has come."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Sum

from sessions_app.models import ApiToken, JobStatus, Project, ProjectDeletion, ProjectMember, ProjectSecret
from sessions_app.sample_project import SLUG as SAMPLES_SLUG
from sessions_app.services.deleting_projects import rows_of
from sessions_app.services.projects import DEFAULT_SLUG


@dataclass(frozen=True, slots=True)
class GoingPage:
    """What deleting a project would take. others: members beside the reader. is_default, is_samples: it can come back
    by itself, or by a command."""

    sessions: int
    live: int
    rows: int
    passes: int
    keys: int
    tokens: int
    others: int
    is_default: bool
    is_samples: bool


@dataclass(frozen=True, slots=True)
class DeletionProgress:
    """A deletion that was asked for."""

    deletion: ProjectDeletion

    @property
    def is_over(self) -> bool:
        return self.deletion.status in (JobStatus.DONE, JobStatus.FAILED)

    @property
    def progress_pct(self) -> float | None:
        """Share of the sessions that are gone; None where there were none."""
        if not self.deletion.sessions_total:
            return None
        return min(100.0, 100 * self.deletion.sessions_done / self.deletion.sessions_total)


def read_going(project: Project, reader_id: int) -> GoingPage:
    """What `project` holds. reader_id: the member who asks."""
    sums = project.sessions.aggregate(passes=Sum("passes_total", default=0))
    return GoingPage(
        sessions=project.sessions.count(),
        live=project.sessions.filter(status="live").count(),
        rows=rows_of(project),
        passes=sums["passes"],
        keys=ProjectSecret.objects.filter(project=project).count(),
        tokens=ApiToken.objects.filter(project=project, revoked_at__isnull=True).count(),
        others=ProjectMember.objects.filter(project=project).exclude(user_id=reader_id).count(),
        is_default=project.slug == DEFAULT_SLUG,
        is_samples=project.slug == SAMPLES_SLUG,
    )
