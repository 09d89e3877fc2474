"""Projects: the list, and what one of them holds."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.access import get_project, visible_projects
from sessions_app.pages.projects import read_project_page, read_projects
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
    context = {"section": "projects", "project": found, "page": read_project_page(found)}
    return render(request, "projects/project.html", context)
