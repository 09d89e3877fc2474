"""The list of sessions."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.access import searchable_projects, visible_sessions
from sessions_app.forms import SessionFilterForm
from sessions_app.pages.session_list import count_sessions, read_filter_choices, read_session_list
from sessions_app.search.vector import FIRST_WORDS, LAST_WORDS
from sessions_app.views.page_request import PageRequest


@require_safe
def session_list(request: PageRequest) -> HttpResponse:
    """The page, or for htmx only the list on it."""
    form = SessionFilterForm(request.GET)
    filters = form.filters()
    visible, project_ids = visible_sessions(request.user), searchable_projects(request.user)
    searched_ids = searchable_projects(request.user, filters.project_slug) if filters.project_slug else project_ids
    context = {
        "section": "sessions",
        "form": form,
        "filters": filters,
        "period_label": form.period_label(filters.period),
        "page": read_session_list(visible, filters, searched_ids),
    }
    if request.htmx and not request.htmx.history_restore_request:
        return render(request, "sessions/_list.html", context)
    context |= {"first_words": FIRST_WORDS, "last_words": LAST_WORDS}
    context["is_member"] = bool(project_ids)
    context |= {"totals": count_sessions(visible, project_ids), "choices": read_filter_choices(project_ids)}
    return render(request, "sessions/list.html", context)
