"""Login links that work once and for a short time. Only a hash of the secret is stored."""

from django.conf import settings
from django.db import models


class LoginLink(models.Model):
    """A link for one person. token_hash: SHA-256 of the secret in hexadecimal."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="login_links")
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"login link {self.pk}"
