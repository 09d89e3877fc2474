"""API tokens of a project, for its owners: made, shown once, revoked."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app import clock
from sessions_app.access import get_managed_project, get_token
from sessions_app.models import Project
from sessions_app.origins import page_origin
from sessions_app.pages.people import read_tokens
from sessions_app.people_forms import BeforeForm, TokenForm
from sessions_app.services import ProjectShut
from sessions_app.services.tokens import IssuedToken, issue_token, revoke_token
from sessions_app.views.page_request import PageRequest


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: PageRequest, slug: str) -> HttpResponse:
    """The list and the form; after a POST the new token with its secret, this once."""
    project = get_managed_project(request.user, slug)
    if request.method != "POST":
        return show_tokens(request, project, TokenForm())
    form = TokenForm(request.POST)
    if form.is_valid() and (issued := issued_token(request, project, form)) is not None:
        return show_tokens(request, project, TokenForm(), issued=issued)
    return show_tokens(request, project, form)


def issued_token(request: PageRequest, project: Project, form: TokenForm) -> IssuedToken | None:
    """The new token; None, with words in the form, when the name is taken. 404 for a project that was shut just now."""
    lifetime = form.lifetime()
    expires_at = None if lifetime is None else clock.now() + lifetime
    name, origin = form.cleaned_data["name"], page_origin(request)
    try:
        return issue_token(project, name, may_write=form.may_write(), expires_at=expires_at, origin=origin)
    except ProjectShut:
        raise Http404("no such project") from None
    except IntegrityError:
        form.add_error("name", gettext("The project has, or had, a token of this name. Choose another."))
        return None


def show_tokens(request: PageRequest, project: Project, form: TokenForm, **more: Any) -> HttpResponse:
    """The page."""
    lines, page = read_tokens(project, BeforeForm(request.GET).key())
    context = {"section": "projects", "tab": "tokens", "project": project, "form": form, "is_owner": True}
    context |= {"lines": lines, "page": page, **more}
    return render(request, "people/tokens.html", context, status=422 if form.errors else 200)


@require_POST
def token_revoke(request: PageRequest, slug: str, token_id: int) -> HttpResponse:
    """End a token for good."""
    project = get_managed_project(request.user, slug)
    revoke_token(project, get_token(project, token_id).name, origin=page_origin(request))
    return redirect("tokens", slug=slug)
