"""The audit log: a project's for its owners, the site's for its administrators."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from sessions_app.access import get_managed_project, may_administer
from sessions_app.models import AuditEntry
from sessions_app.pages.audit import entries_of_project, entries_of_site, read_audit
from sessions_app.people_forms import AuditFilterForm
from sessions_app.views.page_request import PageRequest


@never_cache
@require_safe
def project_audit(request: PageRequest, slug: str) -> HttpResponse:
    """What was done in a project."""
    project = get_managed_project(request.user, slug)
    context = {"section": "projects", "tab": "audit", "project": project, "is_owner": True}
    return show_audit(request, entries_of_project(project), context)


@never_cache
@require_safe
def site_audit(request: PageRequest) -> HttpResponse:
    """Logins and accounts. Nothing of what is in projects: administrators are not their members."""
    if not may_administer(request.user):
        raise Http404("for administrators")
    return show_audit(request, entries_of_site(), {"section": "account", "project": None})


def show_audit(request: PageRequest, found: QuerySet[AuditEntry], context: dict[str, Any]) -> HttpResponse:
    """The page, narrowed by what the address says."""
    form = AuditFilterForm(request.GET)
    kind, who = form.said("kind") or "", form.said("who") or ""
    page = read_audit(found, kind, who, form.said("before"))
    return render(request, "people/audit.html", {**context, "page": page, "kind": kind, "who": who})
