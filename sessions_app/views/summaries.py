"""The summary tab: versions and word diffs."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.access import get_session
from sessions_app.pages.session_head import read_head
from sessions_app.pages.summaries import read_summary_page
from sessions_app.views.page_request import PageRequest


@require_safe
def summaries(request: PageRequest, public_id: str, number: int | None = None) -> HttpResponse:
    """One version, the newest when none is named, with what changed since the one before."""
    found = get_session(request.user, public_id)
    head = read_head(found)
    policy = head.outlook.policy
    limit = policy.micro_compact_defrag_threshold_tokens if policy.runs_micro else None
    page = read_summary_page(found, number, limit)
    if page is None and number is not None:
        raise Http404("no such version")
    is_plain = request.GET.get("as") == "plain"
    context = {"section": "sessions", "tab": "summary", "session": found, "head": head, "page": page}
    return render(request, "session/summary.html", context | {"is_plain": is_plain})
