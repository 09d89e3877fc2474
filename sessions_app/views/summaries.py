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
    shown_as = request.GET.get("as") if request.GET.get("as") in ("plain", "sides") else "inline"
    context = {"section": "sessions", "tab": "summary", "session": found, "head": head, "page": page}
    return render(request, "session/summary.html", context | {"shown_as": shown_as, "as_query": as_query(shown_as)})


def as_query(shown_as: str | None) -> str:
    """What a link to another version takes along, so that it is shown in the same way."""
    return "" if shown_as == "inline" else f"?as={shown_as}"
