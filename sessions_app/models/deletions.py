"""Deletions of whole projects: what was asked for, how far it has come, and what went. They outlive their projects."""

from django.conf import settings
from django.db import models

from sessions_app.models.imports import JobStatus
from sessions_app.models.projects import Project
from sessions_app.models.wordings import WordedTextField


class ProjectDeletion(models.Model):
    """One deletion. project is null once it is gone; slug and name are what it was called. asked_by: who may follow it.

    sessions_total, rows_total, keys_total, tokens_total: what was there when it was asked for.
    """

    project = models.ForeignKey(Project, on_delete=models.SET_NULL, null=True, related_name="+")
    slug = models.CharField(max_length=64)
    name = models.CharField(max_length=200)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    asked_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    status = models.CharField(max_length=10, choices=JobStatus.choices, default=JobStatus.QUEUED)
    error = WordedTextField(blank=True, default="")
    sessions_done = models.PositiveIntegerField(default=0)
    sessions_total = models.PositiveIntegerField()
    rows_total = models.BigIntegerField()
    keys_total = models.PositiveIntegerField()
    tokens_total = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project"], condition=models.Q(project__isnull=False), name="one_deletion_of_a_project"
            ),
            models.CheckConstraint(condition=models.Q(status__in=JobStatus.values), name="deletion_status_known"),
        ]

    def __str__(self) -> str:
        return f"deletion of {self.slug}"
