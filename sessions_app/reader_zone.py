"""The reader's time zone: its name in a cookie of this browser, put there by a script of the page.

Only how times are written depends on it; what is stored and what the API says never does. Without the cookie, or with
a name that is no zone, times are written in the zone of the installation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Final, cast
from zoneinfo import ZoneInfo, available_timezones

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.decorators import sync_and_async_middleware

COOKIE_NAME: Final = "hermes_sessions_zone"

Answer = HttpResponseBase | Awaitable[HttpResponseBase]


@lru_cache(maxsize=1)
def _known_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def zone_of(request: HttpRequest) -> ZoneInfo | None:
    """The zone that the cookie names; None when there is none, or nothing known by that name."""
    name = request.COOKIES.get(COOKIE_NAME, "").replace("%2F", "/")
    return ZoneInfo(name) if name in _known_zones() else None


@sync_and_async_middleware
def reader_zone(get_response: Callable[[HttpRequest], Answer]) -> Callable[[HttpRequest], Answer]:
    """Write times in the reader's zone while a request is answered."""
    if iscoroutinefunction(get_response):

        async def answer_later(request: HttpRequest) -> HttpResponseBase:
            with timezone.override(zone_of(request) or timezone.get_default_timezone()):
                return await cast(Awaitable[HttpResponseBase], get_response(request))

        return answer_later

    def answer(request: HttpRequest) -> Answer:
        with timezone.override(zone_of(request) or timezone.get_default_timezone()):
            return get_response(request)

    return answer
