"""Invitations: links that give whoever opens them a role in a project. Only a hash of the secret is stored."""

from django.conf import settings
from django.db import models

from sessions_app.models.projects import MemberRole, Project

USER_MODEL = settings.AUTH_USER_MODEL


class Invitation(models.Model):
    """A link for `most_uses` people. token_hash: SHA-256 of the secret in hexadecimal."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations", db_index=False)
    role = models.CharField(max_length=10, choices=MemberRole.choices)
    note = models.CharField(max_length=100, blank=True, default="")
    token_hash = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    most_uses = models.PositiveIntegerField()
    uses = models.PositiveIntegerField(default=0)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["project", "-id"], name="invitation_of_project")]
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=MemberRole.values), name="invitation_role_known"),
            models.CheckConstraint(condition=models.Q(uses__lte=models.F("most_uses")), name="invitation_uses"),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}: {self.role}"
