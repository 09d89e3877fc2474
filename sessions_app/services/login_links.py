"""One-time login links. The secret itself is never stored: only its hash, so a copy of the database logs nobody in."""

import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from sessions_app.models import LoginLink
from sessions_app.services.hashed_secrets import hash_secret

TOKEN_BYTES = 32


def issue_login_link(user: User, lifetime: timedelta) -> str:
    """A new secret for `user`, valid once within `lifetime`. Links that have expired are dropped on the way."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    now = timezone.now()
    with transaction.atomic():
        LoginLink.objects.filter(expires_at__lt=now).delete()
        LoginLink.objects.create(user=user, token_hash=hash_secret(token), expires_at=now + lifetime)
    return token


def redeem_login_link(token: str) -> User | None:
    """The person the link is for, or None when it is unknown, spent or expired.

    One statement marks it used and tells whether it was us: of two simultaneous requests one gets in.
    """
    now = timezone.now()
    usable = LoginLink.objects.filter(
        token_hash=hash_secret(token), used_at__isnull=True, expires_at__gt=now, user__is_active=True
    )
    if usable.update(used_at=now) != 1:
        return None
    return User.objects.get(login_links__token_hash=hash_secret(token))
