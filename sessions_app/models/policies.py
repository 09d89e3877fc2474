"""Revisions of settings: a project's, and what one session has on top of it. Both are only ever added to.

Settings are kept as the mapping of the `compression:` and `auxiliary:` blocks, because that is what people exchange;
the engine turns it into a policy.
"""

from django.conf import settings
from django.db import models

from sessions_app.models.projects import Project
from sessions_app.models.sessions import Session
from sessions_app.models.wordings import WordedTextField

USER_MODEL = settings.AUTH_USER_MODEL


class PolicyRevision(models.Model):
    """The settings of a project as they were saved once. Never changed afterwards.

    source_text: the YAML they were read from, with its comments, as far as it concerns them; null when they came from
    elsewhere.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="policy_revisions", db_index=False)
    number = models.PositiveIntegerField()
    settings = models.JSONField()
    author = models.ForeignKey(USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    note = WordedTextField(blank=True, default="")
    source_text = models.TextField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="policy_revision_number")]

    def __str__(self) -> str:
        return f"{self.project_id} revision {self.number}"


class SessionPolicyRevision(models.Model):
    """What one session was set to, on top of its project, as it was saved once. Never changed afterwards."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="policy_revisions", db_index=False)
    number = models.PositiveIntegerField()
    settings = models.JSONField()
    author = models.ForeignKey(USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    note = WordedTextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="session_policy_number")]

    def __str__(self) -> str:
        return f"{self.session_id} own settings {self.number}"
