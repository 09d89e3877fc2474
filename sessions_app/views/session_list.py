"""The list of sessions."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.access import visible_sessions
from sessions_app.forms import SessionFilterForm
from sessions_app.pages.session_list import count_sessions, read_filter_choices, read_session_list
from sessions_app.views.page_request import PageRequest


@require_safe
def session_list(request: PageRequest) -> HttpResponse:
    """The page, or for htmx only the list on it."""
    form = SessionFilterForm(request.GET)
    filters = form.filters()
    visible = visible_sessions(request.user)
    context = {
        "section": "sessions",
        "form": form,
        "filters": filters,
        "period_label": form.period_label(filters.period),
        "page": read_session_list(visible, filters),
    }
    if request.htmx and not request.htmx.history_restore_request:
        return render(request, "sessions/_list.html", context)
    context |= {"totals": count_sessions(visible), "choices": read_filter_choices(visible)}
    return render(request, "sessions/list.html", context)
