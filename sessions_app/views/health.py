"""The health page, for people. Watchers ask /healthz."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.access import may_administer, visible_sessions
from sessions_app.pages.health import read_health
from sessions_app.views.page_request import PageRequest


@never_cache
@require_safe
def health_page(request: PageRequest) -> HttpResponse:
    """How every part of the site is."""
    page = read_health(visible_sessions(request.user), is_administrator=may_administer(request.user))
    return render(request, "health/health.html", {"section": "health", "page": page})
