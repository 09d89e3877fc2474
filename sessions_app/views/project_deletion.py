"""Deleting a project: what would go, the form that asks for it, and how far it has come."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from sessions_app.access import (
    find_project_deletion,
    get_project,
    get_project_deletion,
    may_manage,
    require_owner,
)
from sessions_app.deletion_form import ProjectDeletionForm
from sessions_app.models import Project
from sessions_app.origins import page_origin
from sessions_app.pages.project_deletion import DeletionProgress, read_going
from sessions_app.services.deleting_projects import ask_again, request_project_deletion
from sessions_app.views.page_request import PageRequest


@require_http_methods(["GET", "HEAD", "POST"])
def project_delete(request: PageRequest, slug: str) -> HttpResponse:
    """What would go, and the form; a confirmation that does not fit comes back with 422.

    Somebody who confirms twice is led to the deletion that their first answer asked for.
    """
    if request.method != "POST":
        found = get_project(request.user, slug)
        return _page(request, found, ProjectDeletionForm(None, project=found))
    try:
        return _posted(request, slug)
    except (Http404, PermissionDenied):
        running = find_project_deletion(request.user, slug)
        if running is None:
            raise
        return redirect("project_deletion", deletion_id=running.pk)


def _posted(request: PageRequest, slug: str) -> HttpResponse:
    found = get_project(request.user, slug)
    require_owner(request.user, found)
    form = ProjectDeletionForm(request.POST, project=found)
    if not form.is_valid():
        return _page(request, found, form)
    try:
        deletion = request_project_deletion(found.pk, request.user, page_origin(request))
    except Project.DoesNotExist:
        raise Http404("somebody was first") from None
    return redirect("project_deletion", deletion_id=deletion.pk)


def _page(request: PageRequest, project: Project, form: ProjectDeletionForm) -> HttpResponse:
    context = {"section": "projects", "project": project, "form": form}
    if may_manage(request.user, project):
        context |= {"is_owner": True, "page": read_going(project, request.user.pk or 0)}
    return render(request, "projects/delete.html", context, status=422 if form.errors else 200)


@require_safe
def project_deletion(request: PageRequest, deletion_id: int) -> HttpResponse:
    """How far a deletion has come; for htmx only the part that changes."""
    page = DeletionProgress(get_project_deletion(request.user, deletion_id))
    template = "projects/_deletion.html" if request.htmx else "projects/deletion.html"
    return render(request, template, {"section": "projects", "page": page, "deletion": page.deletion})


@require_POST
def project_deletion_again(request: PageRequest, deletion_id: int) -> HttpResponse:
    """Ask once more for a deletion that failed."""
    ask_again(get_project_deletion(request.user, deletion_id).pk)
    return redirect("project_deletion", deletion_id=deletion_id)
