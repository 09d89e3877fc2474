"""Projects: the list, and what one of them holds."""

from __future__ import annotations

from django.db import IntegrityError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from sessions_app.access import get_project, may_manage, visible_projects
from sessions_app.origins import page_origin
from sessions_app.pages.projects import read_project_page, read_projects
from sessions_app.people_forms import ProjectForm
from sessions_app.services import create_project
from sessions_app.views.page_request import PageRequest


@require_safe
def project_list(request: PageRequest) -> HttpResponse:
    """The projects the reader is a member of."""
    projects = read_projects(visible_projects(request.user), request.user)
    return render(request, "projects/list.html", {"section": "projects", "projects": projects})


@require_safe
def project(request: PageRequest, slug: str) -> HttpResponse:
    """One project: its settings in force, its members, its newest sessions."""
    found = get_project(request.user, slug)
    context = {"section": "projects", "tab": "project", "project": found, "page": read_project_page(found)}
    context["is_owner"] = may_manage(request.user, found)
    return render(request, "projects/project.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def project_new(request: PageRequest) -> HttpResponse:
    """Make a project, whose owner is whoever makes it."""
    form = ProjectForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        slug, name = form.cleaned_data["slug"], form.cleaned_data["name"]
        try:
            create_project(slug, name, request.user, origin=page_origin(request))
        except IntegrityError:
            form.add_error("slug", gettext("This address is taken. Choose another."))
        else:
            return redirect("project", slug=slug)
    context = {"section": "projects", "form": form}
    return render(request, "projects/new.html", context, status=422 if form.errors else 200)
