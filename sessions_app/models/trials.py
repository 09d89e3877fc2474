"""Trials of settings: what a project's last sessions would have been like under settings that nobody has saved yet.

A trial reads stored rows and writes nothing but its own figures. One that was asked for later supersedes it.
"""

from django.conf import settings
from django.db import models

from sessions_app.models.projects import Project
from sessions_app.models.replays import RunStatus
from sessions_app.models.wordings import WordedTextField


class PolicyTrial(models.Model):
    """One trial. settings: the project's blocks as they would be saved; fingerprint: of everything the result depends
    on. progress: in sessions. result: null until it is done."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="policy_trials", db_index=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    settings = models.JSONField()
    fingerprint = models.CharField(max_length=64)
    status = models.CharField(max_length=10, choices=RunStatus.choices, default=RunStatus.QUEUED)
    progress_done = models.PositiveIntegerField(default=0)
    progress_total = models.PositiveIntegerField(null=True)
    cancel_requested = models.BooleanField(default=False)
    error = WordedTextField(blank=True, default="")
    result = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=RunStatus.values), name="trial_status_known")
        ]
        indexes = [models.Index(fields=["project", "-id"], name="trial_newest")]

    def __str__(self) -> str:
        return f"{self.project_id} trial {self.pk}"
