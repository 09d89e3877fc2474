"""Deleting a session with all that belongs to it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from sessions_app import services
from sessions_app.access import SessionDeleted, get_session, may_manage, require_owner
from sessions_app.deletion_form import DeletionForm
from sessions_app.models import Session
from sessions_app.origins import page_origin
from sessions_app.pages.deletion import read_deletion
from sessions_app.views.page_request import PageRequest


@require_http_methods(["GET", "HEAD", "POST"])
def deletion(request: PageRequest, public_id: str) -> HttpResponse:
    """What would go, and the form that deletes it; a confirmation that does not fit comes back with 422."""
    found = get_session(request.user, public_id)
    form = DeletionForm(request.POST or None, session=found)
    if request.method == "POST":
        require_owner(request.user, found.project)
        if form.is_valid():
            try:
                services.delete_session(found.pk, origin=page_origin(request))
            except Session.DoesNotExist:
                raise SessionDeleted(public_id) from None
            messages.success(request, gettext("Session %(id)s is deleted.") % {"id": public_id})
            return redirect("session_list")
    context = {"section": "sessions", "session": found, "form": form, "page": read_deletion(found)}
    context |= {"may_manage": may_manage(request.user, found.project)}
    return render(request, "session/delete.html", context, status=422 if form.errors else 200)
