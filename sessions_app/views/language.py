"""The language switch."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import check_for_language
from django.views.decorators.http import require_POST

from sessions_app.languages import COOKIE_MAX_AGE_SECONDS
from sessions_app.views.going_back import place_to_go_back_to


@login_not_required
@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Keep the chosen language in this browser and go back to where the reader was."""
    code = request.POST.get("language", "")
    response = HttpResponseRedirect(place_to_go_back_to(request))
    if code in dict(settings.LANGUAGES) and check_for_language(code):
        response.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            code,
            max_age=COOKIE_MAX_AGE_SECONDS,
            samesite="Lax",
            secure=request.is_secure(),
            httponly=True,
        )
    return response
