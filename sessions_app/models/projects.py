"""Projects, who may see them, and the revisions of their compression settings.

A project's settings are kept as the mapping of the `compression:` and `auxiliary:` blocks, because that is what people
exchange; the engine turns it into a policy. Revisions are only ever added.
"""

from django.conf import settings
from django.db import models

USER_MODEL = settings.AUTH_USER_MODEL


class MemberRole(models.TextChoices):
    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


class Project(models.Model):
    """A group of sessions that share settings and members. Unknown figures are null."""

    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    policy_settings = models.JSONField(default=dict)
    main_model = models.TextField(null=True)
    window_tokens = models.PositiveIntegerField(null=True)
    fixed_overhead_tokens = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return self.slug


class ProjectMember(models.Model):
    """One person's role in one project."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    user = models.ForeignKey(USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=MemberRole.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="one_role_per_member"),
            models.CheckConstraint(condition=models.Q(role__in=MemberRole.values), name="member_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.project_id}: {self.role}"


class PolicyRevision(models.Model):
    """The settings of a project as they were saved once. Never changed afterwards."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="policy_revisions", db_index=False)
    number = models.PositiveIntegerField()
    settings = models.JSONField()
    author = models.ForeignKey(USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    note = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="policy_revision_number")]

    def __str__(self) -> str:
        return f"{self.project_id} revision {self.number}"
