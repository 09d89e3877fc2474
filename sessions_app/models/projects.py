"""Projects and who may see them. `policy_settings` is what the newest revision of their settings holds."""

from django.conf import settings
from django.db import models

USER_MODEL = settings.AUTH_USER_MODEL


class MemberRole(models.TextChoices):
    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


class Project(models.Model):
    """A group of sessions that share settings and members. Unknown figures are null.

    main_model_settings: the `model` block as it was saved; where it names a model or a window, `main_model` and
    `window_tokens` are the same.
    """

    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    policy_settings = models.JSONField(default=dict)
    main_model = models.TextField(null=True)
    main_model_settings = models.JSONField(default=dict)
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
