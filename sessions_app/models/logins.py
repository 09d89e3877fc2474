"""How people are known to the site: links that log in once, the logins in force, and how often somebody tried.

Of every secret only a hash is stored; the key of a login is as secret as Django's own session table, which this one
replaces.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
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


class Login(AbstractBaseSession):
    """A browser's session with the site, with whose it is, so that people can see and end theirs.

    user_id: null before somebody logs in. agent: what the browser called itself. seen_at: at most a minute behind.
    """

    user_id = models.BigIntegerField(null=True, db_index=True)
    started_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)
    address = models.GenericIPAddressField(null=True)
    agent = models.CharField(max_length=200, blank=True, default="")

    def __str__(self) -> str:
        return f"login of {self.user_id}"


class LoginThrottle(models.Model):
    """How much of its allowance an account or an address has used up in trying to log in.

    who: a hash of the account's name or of the address. busy_until: as for API tokens, the moment at which every
    attempt so far is paid for.
    """

    who = models.CharField(max_length=64, primary_key=True)
    busy_until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.who[:8]
