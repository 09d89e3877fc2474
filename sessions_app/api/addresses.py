"""The addresses below /api/v1/, and what all of them have in common.

The pages' login rule does not hold here: operations check tokens, the description is open to all, and only the page
that shows it is for people who are logged in. An unknown address or method is told in the shape of all errors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, path, re_path
from django.views.decorators.csrf import csrf_exempt

from sessions_app.api.errors import Refusal, answer, not_found
from sessions_app.api.site import api

PREFIX: Final = "api/v1/"
# The page for people, which keeps the rules of pages.
DOCS_PAGE: Final = "openapi-view"


@csrf_exempt
@login_not_required
def nothing_here(request: HttpRequest) -> HttpResponse:
    """Every address below the prefix that is none."""
    return answer(not_found())


def open_to_programs(view: Callable[..., Any]) -> Callable[..., Any]:
    """A view that programs may call: no login page in between, nothing kept by caches, our errors."""

    @csrf_exempt
    @login_not_required
    @wraps(view)
    def opened(request: HttpRequest, *parts: Any, **named: Any) -> Any:
        response = view(request, *parts, **named)
        if response.status_code == 405:
            allowed = {"Allow": response.headers.get("Allow", "")}
            response = answer(Refusal(405, "method_not_allowed", "This address has no such method.", headers=allowed))
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return opened


def api_addresses() -> list[URLPattern | URLResolver]:
    """All addresses of the API."""
    patterns, app_name, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern) and pattern.name != DOCS_PAGE:
            pattern.callback = open_to_programs(pattern.callback)
    return [
        path(PREFIX, nothing_here),
        path(PREFIX, (patterns, app_name, namespace)),
        re_path(r"^api/v1(?:/|$)", nothing_here),
    ]
