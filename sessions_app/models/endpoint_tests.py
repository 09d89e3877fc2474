"""Tests of endpoints: one question put to one or more models that may write summaries, and what each of them did."""

from django.conf import settings
from django.db import models

from sessions_app.models.imports import JobStatus
from sessions_app.models.projects import Project
from sessions_app.models.sessions import Session
from sessions_app.models.wordings import WordedTextField


class EndpointTest(models.Model):
    """One test. endpoints: a list of `auxiliary.compression` blocks, in the order in which they are asked.

    session: whose recorded exchange is the question; null for the made-up one. question: {first, last, rows, tokens} of
    that exchange, null until it is read. report: a list with one result for each endpoint that was asked.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="endpoint_tests", db_index=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.SET_NULL, null=True, related_name="+")
    is_recorded = models.BooleanField(default=False)
    endpoints = models.JSONField(default=list)
    question = models.JSONField(null=True)
    report = models.JSONField(default=list)
    status = models.CharField(max_length=10, choices=JobStatus.choices, default=JobStatus.QUEUED)
    cancel_requested = models.BooleanField(default=False)
    error = WordedTextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=JobStatus.values), name="endpoint_test_status_known")
        ]
        indexes = [models.Index(fields=["project", "-id"], name="endpoint_test_newest")]

    def __str__(self) -> str:
        return f"endpoint test {self.pk}"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be asked."""
        return self.status in (JobStatus.DONE, JobStatus.CANCELLED, JobStatus.FAILED)
