"""Tokens by which programs use the API. Only a hash of the secret is stored."""

from django.conf import settings
from django.db import models

from sessions_app.models.projects import Project


class TokenScope(models.TextChoices):
    READ = "read"
    WRITE = "write"


class ApiToken(models.Model):
    """A program's access to one project. token_hash: SHA-256 of the secret in hexadecimal.

    created_by: null for tokens of the command line. expires_at: null lasts until it is revoked.
    busy_until: the moment at which everything asked so far is paid for at the permitted rate; lies ahead of now by as
    much of the allowance as has been used, and is null before the first request.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="api_tokens", db_index=False)
    name = models.CharField(max_length=100)
    scope = models.CharField(max_length=5, choices=TokenScope.choices, default=TokenScope.READ)
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    busy_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="token_name"),
            models.CheckConstraint(condition=models.Q(scope__in=TokenScope.values), name="token_scope_known"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.scope})"

    @property
    def may_write(self) -> bool:
        """Whether the token may change its project."""
        return self.scope == TokenScope.WRITE
