"""Whether somebody is still logged in, for connections that outlive the request they began with."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User

from sessions_app import clock
from sessions_app.models import Login


def is_login_in_force(session_key: str | None, user_id: int | None) -> bool:
    """Whether this login of this person has neither ended nor run out, and they may still log in at all."""
    if session_key is None or user_id is None:
        return False
    now = clock.now()
    youngest = now - timedelta(seconds=settings.LOGIN_MOST_SECONDS)
    logins = Login.objects.filter(session_key=session_key, user_id=user_id, expire_date__gt=now)
    return logins.filter(started_at__gt=youngest).exists() and User.objects.filter(pk=user_id, is_active=True).exists()
