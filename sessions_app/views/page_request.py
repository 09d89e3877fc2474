"""The type of the requests that pages answer: somebody is logged in, and the htmx middleware has looked at it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


class PageRequest(HttpRequest):
    """A request of a person. The login middleware has turned everybody else away."""

    htmx: HtmxDetails
    user: User
