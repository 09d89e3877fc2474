"""The page behind an invitation. Open to strangers: whoever has the link is invited.

Somebody who is logged in joins by one click; others make an account, or log in first and come back.
"""

from __future__ import annotations

from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from hermes_site.login.views import BACKEND, note_way_in
from sessions_app.models import Invitation
from sessions_app.origins import page_origin
from sessions_app.people_forms import NewAccountForm
from sessions_app.services.accounts import join_with_new_account
from sessions_app.services.invitations import InvitationSpent, accept_invitation, find_invitation


@sensitive_post_parameters("password", "password_again")
@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """What one is invited to, and how to accept. A link that is spent, expired or invented gets one page, with 410."""
    found = find_invitation(token)
    if found is None:
        return spent(request)
    try:
        if request.user.is_authenticated:
            return join(request, found, token)
        return join_as_new(request, found, token)
    except InvitationSpent:
        return spent(request)


def join(request: HttpRequest, found: Invitation, token: str) -> HttpResponse:
    """Somebody who is logged in."""
    if request.method == "POST":
        accept_invitation(page_origin(request), token, request.user)  # type: ignore[arg-type]  # logged in
        return redirect("project", slug=found.project.slug)
    return show(request, found, None)


@sensitive_variables("form")
def join_as_new(request: HttpRequest, found: Invitation, token: str) -> HttpResponse:
    """Somebody without an account, or not logged in."""
    form = NewAccountForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name, password = form.cleaned_data["username"], form.cleaned_data["password"]
        try:
            user = join_with_new_account(page_origin(request), token, name, password)
        except IntegrityError:
            form.add_error("username", gettext("This name is taken. Choose another."))
        else:
            login(request, user, backend=BACKEND)
            note_way_in(request, "invitation")
            return redirect("project", slug=found.project.slug)
    return show(request, found, form)


def show(request: HttpRequest, found: Invitation, form: NewAccountForm | None) -> HttpResponse:
    """The page; mistakes come back with 422."""
    has_mistakes = form is not None and bool(form.errors)
    context = {"invitation": found, "form": form, "project": found.project}
    return render(request, "registration/invitation.html", context, status=422 if has_mistakes else 200)


def spent(request: HttpRequest) -> HttpResponse:
    """The page for links that let nobody in any more."""
    return render(request, "registration/invitation_spent.html", status=410)
