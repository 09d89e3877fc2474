"""Importing files: the form, and one import with its progress and results."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from sessions_app.access import get_import_job, require_writer, visible_projects, writable_projects
from sessions_app.import_form import ImportForm
from sessions_app.origins import page_origin
from sessions_app.pages.imports import newest_jobs, read_import
from sessions_app.services.imports import cancel_import, request_import
from sessions_app.uploads import keep_uploads
from sessions_app.views.page_request import PageRequest


@require_http_methods(["GET", "HEAD", "POST"])
def import_files(request: PageRequest) -> HttpResponse:
    """Take files and ask for their import; a mistake comes back with 422."""
    projects = writable_projects(request.user)
    form = ImportForm(
        request.POST or None, request.FILES or None, projects=projects, initial={"project": request.GET.get("project")}
    )
    if request.method == "POST" and form.is_valid():
        uploads = keep_uploads(form.cleaned_data["uploads"])
        project = form.cleaned_data["project"]
        job = request_import(project, uploads, created_by=request.user, origin=page_origin(request))
        return redirect("import_job", job_id=job.pk)
    context = {"section": "import", "form": form, "projects": projects.order_by("name")}
    context["is_member"] = visible_projects(request.user).exists()
    context["jobs"] = newest_jobs(visible_projects(request.user))
    return render(request, "imports/form.html", context, status=422 if form.errors else 200)


@require_GET
def import_job(request: PageRequest, job_id: int) -> HttpResponse:
    """One import; for htmx only its changing part, as long as it runs."""
    page = read_import(get_import_job(request.user, job_id))
    template = "imports/_job.html" if request.htmx else "imports/job.html"
    return render(request, template, {"section": "import", "page": page, "job": page.job})


@require_POST
def import_cancel(request: PageRequest, job_id: int) -> HttpResponse:
    """Ask an import to stop after the file it reads."""
    job = get_import_job(request.user, job_id)
    require_writer(request.user, job.project)
    cancel_import(job.pk)
    return redirect("import_job", job_id=job_id)
