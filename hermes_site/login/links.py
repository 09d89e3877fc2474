"""The links that log somebody in once: address and lifetime. What the database remembers belongs to the services."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.urls import reverse

from sessions_app.services.login_links import issue_login_link
from sessions_app.services.owner import ensure_local_owner

LIFETIME = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class OneTimeLink:
    url: str
    lifetime_minutes: int


def make_owner_link(site_url: str) -> OneTimeLink:
    """A new link for the local owner, who is created if there is none. `site_url` has no slash at its end."""
    return make_link(ensure_local_owner(), site_url)


def make_link(user: User, site_url: str) -> OneTimeLink:
    """A new link for `user`."""
    token = issue_login_link(user, LIFETIME)
    path = reverse("login_once", args=[token])
    return OneTimeLink(f"{site_url}{path}", int(LIFETIME.total_seconds() // 60))
