"""The pages through which people get in. Open to strangers, all others of the site are not."""

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from sessions_app.services.login_links import redeem_login_link

BACKEND = "django.contrib.auth.backends.ModelBackend"


@login_not_required
@never_cache
@require_GET
def login_once(request: HttpRequest, token: str) -> HttpResponse:
    """Log in by a one-time link; a link that is spent, expired or invented gets one and the same page, with 410."""
    if is_guess_of_the_browser(request):
        return HttpResponse(status=204)
    user = redeem_login_link(token)
    if user is None:
        return render(request, "registration/login_link_spent.html", status=410)
    login(request, user, backend=BACKEND)
    return redirect(settings.LOGIN_REDIRECT_URL)


def is_guess_of_the_browser(request: HttpRequest) -> bool:
    """Browsers fetch addresses they expect to be asked for; that must not use a link up."""
    return "prefetch" in request.headers.get("Sec-Purpose", request.headers.get("Purpose", ""))
