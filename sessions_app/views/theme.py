"""The theme switch."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from sessions_app.themes import COOKIE_MAX_AGE_SECONDS, COOKIE_NAME, Theme


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the chosen theme in this browser and go back to where the reader was."""
    word = request.POST.get("theme", "")
    back = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure()):
        back = "/"
    response = HttpResponseRedirect(back)
    chosen = Theme(word) if word in tuple(Theme) else Theme.AUTO
    response.set_cookie(
        COOKIE_NAME, chosen, max_age=COOKIE_MAX_AGE_SECONDS, samesite="Lax", secure=request.is_secure(), httponly=True
    )
    return response
