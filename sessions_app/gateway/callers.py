"""Who calls: a program with a token of a project, under the same rules and the same count as in the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest

from sessions_app.api.authentication import READ, WRITE
from sessions_app.api.errors import Refusal
from sessions_app.gateway.refusals import from_api, no_such_token
from sessions_app.models import ApiToken

_SCHEME: Final = "bearer"


def calling_token(headers: Mapping[str, str], *, writes: bool) -> ApiToken:
    """The token in force that the headers name, with its project. Raises GatewayRefusal."""
    scheme, _, secret = headers.get("Authorization", "").partition(" ")
    if scheme.lower() != _SCHEME or not secret.strip():
        raise no_such_token()
    try:
        found = (WRITE if writes else READ).authenticate(HttpRequest(), secret)
    except Refusal as refused:
        raise from_api(refused) from None
    if found is None:
        raise no_such_token()
    return found
