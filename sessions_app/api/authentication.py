"""Who asks: a token in the Authorization header, and nothing else.

The login cookie of the pages is not looked at, so no page of another site can use the API in somebody's name and no
CSRF token is needed. Without a token in force the answer is 401 for every address alike: whoever has none learns
nothing of what exists.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from ninja.security import HttpBearer

from sessions_app.api.errors import Refusal, too_many_requests
from sessions_app.models import ApiToken
from sessions_app.services.tokens import find_token, spend_request


class ApiRequest(HttpRequest):
    """A request whose token was accepted."""

    auth: ApiToken


class Token(HttpBearer):
    """A token that may read, which all may."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        """The token in force, with its project. Raises Refusal when it asks too often."""
        found = find_token(token)
        if found is None:
            return None
        wait = spend_request(found, settings.API_REQUESTS_A_MINUTE)
        if wait is not None:
            raise too_many_requests(wait)
        return found


class WriteToken(Token):
    """A token that may also change things."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken | None:
        """As above; a token that may only read is told so."""
        found = super().authenticate(request, token)
        if found is not None and not found.may_write:
            raise Refusal(403, "forbidden", "This token may read but not write.")
        return found


READ = Token()
WRITE = WriteToken()
