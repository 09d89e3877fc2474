"""The theme switch."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_POST

from sessions_app.themes import COOKIE_MAX_AGE_SECONDS, COOKIE_NAME, Theme
from sessions_app.views.going_back import place_to_go_back_to


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the chosen theme in this browser and go back to where the reader was."""
    word = request.POST.get("theme", "")
    response = HttpResponseRedirect(place_to_go_back_to(request))
    chosen = Theme(word) if word in tuple(Theme) else Theme.AUTO
    response.set_cookie(
        COOKIE_NAME, chosen, max_age=COOKIE_MAX_AGE_SECONDS, samesite="Lax", secure=request.is_secure(), httponly=True
    )
    return response
