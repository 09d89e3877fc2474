"""Stored keys of a project, for its owners: set and removed, never shown."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.access import get_managed_project, get_secret
from sessions_app.models import Project
from sessions_app.origins import page_origin
from sessions_app.pages.people import read_secrets
from sessions_app.people_forms import BeforeForm, SecretForm
from sessions_app.secret_box import SecretsUnavailable, can_store
from sessions_app.services import ProjectShut
from sessions_app.services.secrets import remove_secret, store_secret
from sessions_app.translated import translated
from sessions_app.views.page_request import PageRequest


@sensitive_variables()
@sensitive_post_parameters("value")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def secrets(request: PageRequest, slug: str) -> HttpResponse:
    """The list and the form. A mistake comes back with 422 and everything that was typed but the key itself."""
    project = get_managed_project(request.user, slug)
    form = SecretForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and keep(request, project, form):
        return redirect("secrets", slug=slug)
    page = read_secrets(project, BeforeForm(request.GET).key())
    context = {"section": "projects", "tab": "secrets", "project": project, "is_owner": True, "form": form}
    context |= {"page": page, "can_store": can_store()}
    return render(request, "people/secrets.html", context, status=422 if form.errors else 200)


@sensitive_variables()
def keep(request: PageRequest, project: Project, form: SecretForm) -> bool:
    """Store the key; False, with words in the form, when this site can't. 404 for a project that was shut just now."""
    asked = form.cleaned_data
    try:
        store_secret(page_origin(request), project, asked["name"], asked["place"], asked["value"])
    except ProjectShut:
        raise Http404("no such project") from None
    except SecretsUnavailable as error:
        form.add_error(None, translated(error.said))
        return False
    messages.success(request, gettext("The key %(name)s is stored.") % {"name": asked["name"]})
    return True


@require_POST
def secret_remove(request: PageRequest, slug: str, secret_id: int) -> HttpResponse:
    """Forget a key."""
    project = get_managed_project(request.user, slug)
    remove_secret(page_origin(request), get_secret(project, secret_id))
    return redirect("secrets", slug=slug)
