"""Deleting a project with everything in it.

From the moment somebody asks for it, nobody gets in any more: memberships, invitations, tokens and keys go at once, in
the transaction that asks, and what runs in the background is told to stop. A job then deletes the sessions, each in a
transaction of its own, and the project last. The audit log keeps its entries.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import F, Sum

from compaction.storable import storable_text
from sessions_app import clock
from sessions_app.deferring import defer_project_deletion
from sessions_app.models import (
    ApiToken,
    AuditAction,
    EndpointTest,
    ImportJob,
    Invitation,
    JobStatus,
    Play,
    PlayStatus,
    PolicyTrial,
    Project,
    ProjectDeletion,
    ProjectMember,
    ProjectSecret,
    ReplayRun,
    RunStatus,
    Session,
)
from sessions_app.services.audit import AuditOrigin, record_audit
from sessions_app.services.deleting import remove_sessions
from sessions_app.services.locking import lock_sessions

_OPEN = (JobStatus.QUEUED, JobStatus.RUNNING)


def request_project_deletion(project_id: int, asked_by: AbstractBaseUser, origin: AuditOrigin) -> ProjectDeletion:
    """Shut a project and ask for its deletion. Raises Project.DoesNotExist when somebody was first."""
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project_id)
        if ProjectDeletion.objects.filter(project=project).exists():
            raise Project.DoesNotExist
        deletion = ProjectDeletion.objects.create(
            project=project,
            slug=project.slug,
            name=project.name,
            asked_by_id=asked_by.pk,
            asked_at=clock.now(),
            sessions_total=project.sessions.count(),
            rows_total=rows_of(project),
            keys_total=ProjectSecret.objects.filter(project=project).count(),
            tokens_total=ApiToken.objects.filter(project=project).count(),
        )
        record_audit(
            origin,
            AuditAction.PROJECT_DELETED,
            project=project,
            subject=project.slug,
            details=(("sessions", str(deletion.sessions_total)), ("rows", str(deletion.rows_total))),
        )
        _shut(project)
        defer_project_deletion(deletion.pk)
    return deletion


def rows_of(project: Project) -> int:
    """How many rows its sessions have, live, archived and rewound."""
    counted = project.sessions.aggregate(rows=Sum(F("live_rows") + F("archived_rows") + F("rewound_rows"), default=0))
    rows: int = counted["rows"]
    return rows


def _shut(project: Project) -> None:
    """Nobody gets in any more, and nothing new begins."""
    for model in (ProjectMember, Invitation, ApiToken, ProjectSecret):
        model._default_manager.filter(project=project).delete()
    ImportJob.objects.filter(project=project, status__in=_OPEN).update(cancel_requested=True)
    EndpointTest.objects.filter(project=project, status__in=_OPEN).update(cancel_requested=True)
    PolicyTrial.objects.filter(project=project, status__in=(RunStatus.QUEUED, RunStatus.RUNNING)).update(
        cancel_requested=True
    )
    runs = ReplayRun.objects.filter(session__project=project, status__in=(RunStatus.QUEUED, RunStatus.RUNNING))
    runs.update(cancel_requested=True)
    plays = Play.objects.filter(session__project=project).exclude(status__in=(PlayStatus.DONE, PlayStatus.FAILED))
    plays.update(status=PlayStatus.CANCELLED, ticket=F("ticket") + 1, next_at=None, finished_at=clock.now())


def ask_again(deletion_id: int) -> bool:
    """Ask once more for a deletion that failed. False when it did not."""
    with transaction.atomic():
        failed = ProjectDeletion.objects.filter(pk=deletion_id, status=JobStatus.FAILED)
        if not failed.update(status=JobStatus.QUEUED, error="", finished_at=None):
            return False
        defer_project_deletion(deletion_id)
    return True


def begin_project_deletion(deletion_id: int) -> ProjectDeletion | None:
    """The deletion, noted as running; None when it is over or gone."""
    open_ones = ProjectDeletion.objects.filter(pk=deletion_id, status__in=_OPEN)
    if not open_ones.update(status=JobStatus.RUNNING):
        return None
    return ProjectDeletion.objects.get(pk=deletion_id)


def delete_next_session(deletion: ProjectDeletion) -> bool:
    """Delete one session of the project and note it; False when there is none left."""
    assert deletion.project_id is not None, "the project goes last"
    with transaction.atomic():
        left = Session.objects.filter(project_id=deletion.project_id).order_by("id")
        first = left.values_list("pk", flat=True).first()
        if first is None:
            return False
        linked = Session.objects.filter(parent_id=first).values_list("pk", flat=True)
        if first in lock_sessions([first, *linked]):
            remove_sessions([first])
            ProjectDeletion.objects.filter(pk=deletion.pk).update(sessions_done=F("sessions_done") + 1)
    return True


def finish_project_deletion(deletion: ProjectDeletion, remove: Callable[[tuple[str, ...]], None]) -> bool:
    """Delete the project itself; False, and nothing is deleted, when a session has come in meanwhile.

    remove: removes the uploads of its imports from the disk. They go first: who is killed behind it still finds here
    where they were, and nobody needs them any more.
    """
    assert deletion.project_id is not None, "the project goes last"
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=deletion.project_id)
        if project.sessions.exists():
            return False
        uploads = ImportJob.objects.filter(project=project).values_list("files", flat=True)
        # What a command read where it lay has no path, and is not ours to remove.
        remove(tuple(str(file["path"]) for files in uploads for file in files if file["path"]))
        project.delete()
        ProjectDeletion.objects.filter(pk=deletion.pk).update(status=JobStatus.DONE, finished_at=clock.now())
    return True


def fail_project_deletion(deletion_id: int, error: str) -> None:
    """Note that it could not be done. What went is gone, the project stays shut."""
    ProjectDeletion.objects.filter(pk=deletion_id).update(
        status=JobStatus.FAILED, error=storable_text(error), finished_at=clock.now()
    )
