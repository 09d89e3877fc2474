"""The pages through which people get in and out. Open to strangers, all others of the site are not."""

from __future__ import annotations

import math
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from hermes_site.login.form import LoginForm
from sessions_app.models import AuditAction
from sessions_app.origins import page_origin
from sessions_app.services import record_audit
from sessions_app.services.login_links import redeem_login_link

BACKEND = "django.contrib.auth.backends.ModelBackend"


class PasswordLogin(LoginView):
    """By name and password. Django changes the key of the session on the way in and keeps `next` on this site."""

    authentication_form = LoginForm
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """In."""
        response = super().form_valid(form)
        note_way_in(self.request, "password")
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """The form again; 429 and the wait for whoever tried too often."""
        response = super().form_invalid(form)
        if form.wait is not None:
            response.status_code = 429
            response.headers["Retry-After"] = str(max(1, math.ceil(form.wait.total_seconds())))
        return response


class Logout(LogoutView):
    """Out, by POST only."""

    def post(self, request: HttpRequest, *arguments: Any, **named: Any) -> Any:
        """Out."""
        if request.user.is_authenticated:
            record_audit(page_origin(request), AuditAction.LOGIN_ENDED, subject=request.user.get_username())
        return super().post(request, *arguments, **named)


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
    note_way_in(request, "one-time link")
    return redirect(settings.LOGIN_REDIRECT_URL)


def note_way_in(request: HttpRequest, way: str) -> None:
    """Tell the audit log that somebody is in."""
    name = request.user.get_username()
    record_audit(page_origin(request), AuditAction.LOGIN_SUCCEEDED, subject=name, details=(("by", way),))


def is_guess_of_the_browser(request: HttpRequest) -> bool:
    """Browsers fetch addresses they expect to be asked for; that must not use a link up."""
    return "prefetch" in request.headers.get("Sec-Purpose", request.headers.get("Purpose", ""))
