"""What is answered where there is nothing: the same for what never was and for what belongs to others."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.defaults import page_not_found

from sessions_app.access import SessionDeleted
from sessions_app.views.page_request import PageRequest


def missing(request: PageRequest, exception: Exception) -> HttpResponse:
    """404; 410 for a session that was deleted, to those who could have read it."""
    if isinstance(exception, SessionDeleted):
        return render(request, "410.html", {"section": "sessions", "public_id": exception.args[0]}, status=410)
    return page_not_found(request, exception)
