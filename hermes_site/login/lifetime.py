"""How long a login lasts: until nothing was asked for some time, and in no case longer than the site allows.

The idle limit is the age of Django's session, renewed at most once a minute by what people ask for; what an open page
asks by itself does not count. Must not ask the database: both times stand in the session, which is loaded anyway.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import SESSION_KEY, logout
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from compaction.storable import storable_text
from sessions_app.origins import client_address

BEGUN_AT: Final = "login_begun_at"
SEEN_AT: Final = "login_seen_at"
ADDRESS: Final = "login_address"
AGENT: Final = "login_agent"
RENEW_EVERY: Final = timedelta(minutes=1)
# What open pages fetch when they hear that something happened; nobody need be there.
OF_PAGES_THEMSELVES: Final = frozenset({"session_updates", "occupancy_json", "chat_stream"})
# Pages a part of which asks for itself anew each second, for as long as something runs: by GET, and marked by htmx.
ASKING_ANEW: Final = frozenset({"play", "run", "import_job", "endpoint_test", "settings_trial"})


def note_login(request: HttpRequest, **_more: Any) -> None:
    """Write into the session when it began and from where. Receives `user_logged_in`."""
    now = timezone.now().isoformat()
    request.session[BEGUN_AT] = request.session[SEEN_AT] = now
    request.session[ADDRESS] = client_address(request)
    request.session[AGENT] = storable_text(request.META.get("HTTP_USER_AGENT", ""))[:200]


class LoginLifetimeMiddleware(MiddlewareMixin):
    """Ends logins that are too old, and keeps those alive that are used."""

    def process_request(self, request: HttpRequest) -> None:
        """Log out whoever has been in for too long."""
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or SESSION_KEY not in request.session:
            return
        begun_at = moment_in(request.session.get(BEGUN_AT))
        if begun_at is None or timezone.now() - begun_at > timedelta(seconds=settings.LOGIN_MOST_SECONDS):
            logout(request)

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Renew the idle limit. Saving the session also renews its cookie."""
        session = getattr(request, "session", None)
        if session is None or settings.SESSION_COOKIE_NAME not in request.COOKIES or SESSION_KEY not in session:
            return response
        seen_at = moment_in(session.get(SEEN_AT))
        is_due = seen_at is None or timezone.now() - seen_at > RENEW_EVERY
        if is_due and not is_of_page_itself(request):
            session[SEEN_AT] = timezone.now().isoformat()
        return response


def is_of_page_itself(request: HttpRequest) -> bool:
    """Whether an open page asks, and nobody need be there."""
    name = None if request.resolver_match is None else request.resolver_match.url_name
    is_asked_anew = request.method == "GET" and "HX-Request" in request.headers and name in ASKING_ANEW
    return is_asked_anew or name in OF_PAGES_THEMSELVES


def moment_in(text: object) -> datetime | None:
    """A time as sessions keep it."""
    return datetime.fromisoformat(text) if isinstance(text, str) else None
