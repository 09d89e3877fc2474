"""Asking for the import of uploaded files, and keeping its progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from compaction.storable import storable_text
from compaction.wording import worded
from sessions_app.deferring import defer_import
from sessions_app.mapping import storable_json
from sessions_app.models import AuditAction, AuditSource, ImportJob, JobStatus, Project
from sessions_app.services.audit import AuditOrigin, record_audit
from sessions_app.services.cancelling import cancel_job

REPORT_EVERY_FILES: Final = 25


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that waits to be read: the name it came with, where it lies now, and its size.

    On disk it has the same last name, because some formats have no other identity for their session.
    """

    name: str
    path: str
    size_bytes: int


def request_import(
    project: Project,
    files: Sequence[UploadedFile],
    created_by: AbstractBaseUser | None = None,
    format_name: str = "auto",
    *,
    origin: AuditOrigin | None = None,
) -> ImportJob:
    """A queued import of files that lie on disk, with its job. origin: for the audit log, by default `created_by`."""
    with transaction.atomic():
        job = ImportJob.objects.create(
            project=project,
            created_by_id=None if created_by is None else created_by.pk,
            files=storable_json([asdict(file) for file in files]),
            format=format_name,
        )
        defer_import(job.pk)
        record_audit(
            origin or AuditOrigin(AuditSource.SITE, created_by),
            AuditAction.IMPORT_REQUESTED,
            project=project,
            subject=worded("import {}", job.pk),
            details=(("files", str(len(files))), ("bytes", str(sum(file.size_bytes for file in files)))),
        )
    return job


@dataclass(frozen=True, slots=True)
class ImportEnded:
    """How an import of the command line ended. report: outcomes of its first files, of so many in all."""

    status: JobStatus
    report: Sequence[dict[str, Any]]
    files: int
    error: str = ""


def enter_import(project: Project, files: Sequence[UploadedFile], ended: ImportEnded, origin: AuditOrigin) -> ImportJob:
    """An import that is over, made by a command, with its entry in the audit log."""
    with transaction.atomic():
        job = ImportJob.objects.create(
            project=project,
            source=origin.source,
            files=storable_json([asdict(file) for file in files]),
            status=ended.status,
            progress_done=ended.files,
            progress_total=ended.files,
            report=storable_json(list(ended.report)),
            error=storable_text(ended.error),
            finished_at=timezone.now(),
        )
        record_audit(
            origin,
            AuditAction.IMPORT_REQUESTED,
            project=project,
            subject=worded("import {}", job.pk),
            details=(("files", str(ended.files)),),
        )
    return job


def begin_import(job: ImportJob) -> bool:
    """Note that the job runs, from its first file on; False when it is gone with its project."""
    job.status, job.started_at, job.progress_done, job.report = JobStatus.RUNNING, timezone.now(), 0, []
    return _save(job, "status", "started_at", "progress_done", "report")


def note_import_progress(job: ImportJob, done: int, total: int, outcome: dict[str, Any]) -> bool:
    """Add one file's outcome; False when somebody asked the import to stop, or it is gone with its project.

    The count is written each time, the report only now and then: it grows with every file.
    """
    job.progress_done, job.progress_total = done, max(done, total)
    job.report = [*(job.report or []), storable_json(outcome)]
    is_due = done < REPORT_EVERY_FILES or done % REPORT_EVERY_FILES == 0
    if not _save(job, "progress_done", "progress_total", *(["report"] if is_due else [])):
        return False
    return not ImportJob.objects.filter(pk=job.pk, cancel_requested=True).exists()


def finish_import(job: ImportJob, status: JobStatus, error: str = "") -> bool:
    """Note how the import ended; False when it is gone with its project. Sessions that were imported before it stopped
    stay."""
    job.status, job.error, job.finished_at = status, storable_text(error), timezone.now()
    return _save(job, "status", "error", "finished_at", "report")


def _save(job: ImportJob, *columns: str) -> bool:
    """Store columns of a job; False when it is gone."""
    found = ImportJob.objects.filter(pk=job.pk)
    return found.update(**{column: getattr(job, column) for column in columns}) > 0


def cancel_import(job_id: int) -> bool:
    """Ask an import to stop after the file it reads; one that has not begun is cancelled at once."""
    return cancel_job(ImportJob.objects.filter(pk=job_id))
