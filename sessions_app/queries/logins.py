"""Whether somebody is still logged in, for connections that outlive the request they began with."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User

from sessions_app import clock
from sessions_app.models import Login


def is_login_in_force(session_key: str | None, user_id: int | None) -> bool:
    """Whether this login of this person has neither ended nor run out, and they may still log in at all."""
    if session_key is None or user_id is None:
        return False
    is_active = User.objects.filter(pk=user_id, is_active=True)
    return (session_key, user_id) in logins_in_force({session_key}) and is_active.exists()


def logins_in_force(session_keys: Collection[str]) -> set[tuple[str, int]]:
    """Those of the logins that have neither ended nor run out, each with whose it is."""
    now = clock.now()
    youngest = now - timedelta(seconds=settings.LOGIN_MOST_SECONDS)
    logins = Login.objects.filter(session_key__in=session_keys, expire_date__gt=now, started_at__gt=youngest)
    return {(key, user_id) for key, user_id in logins.values_list("session_key", "user_id") if user_id is not None}
