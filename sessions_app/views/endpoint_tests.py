"""Testing endpoints: start a test, watch it, stop it, compare what came of it."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from sessions_app.access import get_endpoint_test, get_project, may_manage, may_write, require_writer
from sessions_app.endpoint_test_form import EndpointTestForm
from sessions_app.pages.endpoint_tests import newest_tests, read_endpoint_test
from sessions_app.services.endpoint_tests import cancel_endpoint_test, request_endpoint_test
from sessions_app.views.page_request import PageRequest


@require_http_methods(["GET", "HEAD", "POST"])
def endpoint_tests(request: PageRequest, slug: str) -> HttpResponse:
    """The form and the tests so far. A mistake in the form comes back with 422 and everything that was typed."""
    project = get_project(request.user, slug)
    data = request.POST if request.method == "POST" else None
    form = EndpointTestForm(data, project=project, may_name_keys=may_manage(request.user, project))
    if request.method == "POST":
        require_writer(request.user, project)
        if form.is_valid():
            session = form.chosen_session()
            test = request_endpoint_test(project, form.blocks(), session=session, created_by=request.user)
            return redirect("endpoint_test", slug=slug, test_id=test.pk)
    context = {"section": "projects", "project": project, "form": form, "tests": newest_tests(project)}
    context["may_write"] = may_write(request.user, project)
    return render(request, "endpoints/list.html", context, status=422 if form.has_errors else 200)


@require_GET
def endpoint_test(request: PageRequest, slug: str, test_id: int) -> HttpResponse:
    """One test; for htmx only its changing part, as long as it runs."""
    test = get_endpoint_test(request.user, slug, test_id)
    context = {"section": "projects", "project": test.project, "test": test, "page": read_endpoint_test(test)}
    context["may_write"] = may_write(request.user, test.project)
    return render(request, "endpoints/_test.html" if request.htmx else "endpoints/test.html", context)


@require_POST
def endpoint_test_cancel(request: PageRequest, slug: str, test_id: int) -> HttpResponse:
    """Ask a test to stop."""
    test = get_endpoint_test(request.user, slug, test_id)
    require_writer(request.user, test.project)
    cancel_endpoint_test(test.pk)
    return redirect("endpoint_test", slug=slug, test_id=test_id)
