"""Imports with their progress and what came of each file: of the import page, and of the command line."""

from django.conf import settings
from django.db import models

from sessions_app.models.audit import AuditSource
from sessions_app.models.projects import Project
from sessions_app.models.wordings import WordedTextField


class JobStatus(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class ImportJob(models.Model):
    """One upload, or one call of the command, which is entered when it is over.

    files: a list of {name, path, size_bytes}; path is empty for what the command read where it lies. report: a list
    with one entry per file, of very many files only of the first. source: where the wish came from.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="import_jobs", db_index=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    source = models.CharField(max_length=10, default=AuditSource.PAGE.value, db_default=AuditSource.PAGE.value)
    files = models.JSONField(default=list)
    format = models.CharField(max_length=40, default="auto")
    status = models.CharField(max_length=10, choices=JobStatus.choices, default=JobStatus.QUEUED)
    progress_done = models.PositiveIntegerField(default=0)
    progress_total = models.PositiveIntegerField(null=True)
    cancel_requested = models.BooleanField(default=False)
    report = models.JSONField(null=True)
    error = WordedTextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=JobStatus.values), name="import_status_known")
        ]
        indexes = [models.Index(fields=["project", "-id"], name="import_newest")]

    def __str__(self) -> str:
        return f"import {self.pk}"
