"""The sessions of browsers, kept with whose they are. Django's own store in all else.

The idea: what an account page lists, and what "log out everywhere" deletes, are the very records by which people are
let in, so there is no second list that could say something else.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from hermes_site.login.lifetime import ADDRESS, AGENT, BEGUN_AT
from sessions_app.models import Login


class SessionStore(DatabaseStore):
    """Django's store over our table."""

    @classmethod
    def get_model_class(cls) -> type[Login]:
        """Our table."""
        return Login

    def create_model_instance(self, data: dict[str, Any]) -> Login:
        """The record to be saved."""
        return described(super().create_model_instance(data), data)

    async def acreate_model_instance(self, data: dict[str, Any]) -> Login:
        """The same for asynchronous code."""
        return described(await super().acreate_model_instance(data), data)


def described(login: Any, data: dict[str, Any]) -> Login:
    """The record with what the session says of its person and browser."""
    person, begun_at = data.get(SESSION_KEY), data.get(BEGUN_AT)
    login.user_id = None if person is None else int(person)
    login.started_at = None if begun_at is None else datetime.fromisoformat(begun_at)
    login.seen_at = timezone.now()
    login.address, login.agent = data.get(ADDRESS), data.get(AGENT, "")
    found: Login = login
    return found
