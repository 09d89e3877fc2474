"""The occupancy tab: chart, table, and the same figures as JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from django.http import HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from compaction.threshold import occupancy_pct
from sessions_app.access import get_session
from sessions_app.models import Session
from sessions_app.pages.occupancy import every_event, read_chart, read_event_page, read_series
from sessions_app.pages.session_head import read_head
from sessions_app.pages.setting_marks import read_settings_changes
from sessions_app.views.csv_answer import csv_answer
from sessions_app.views.page_request import PageRequest

CSV_COLUMNS = (
    *("seq", "at", "event", "first_row", "last_row", "live_rows", "live_tokens", "fixed_overhead_tokens"),
    *("threshold_tokens", "occupancy_pct", "pass", "pass_kind", "pass_outcome"),
)


@require_safe
def occupancy(request: PageRequest, public_id: str) -> HttpResponse:
    """The page: a chart drawn by the browser over one drawn here, and the table."""
    found = get_session(request.user, public_id)
    before = request.GET.get("before", "")
    context = {
        "section": "sessions",
        "tab": "occupancy",
        "session": found,
        "head": read_head(found),
        "chart": read_chart(found, read_settings_changes(found)),
        "events": read_event_page(found, int(before) if before.isdecimal() and len(before) < 19 else None),
    }
    return render(request, "session/occupancy.html", context)


@require_safe
def occupancy_json(request: PageRequest, public_id: str) -> JsonResponse:
    """The series for the browser's chart."""
    found = get_session(request.user, public_id)
    changes = [asdict(change) | {"icon": "set"} for change in read_settings_changes(found)]
    return JsonResponse(read_series(found) | {"changes": changes})


@require_safe
def occupancy_csv(request: PageRequest, public_id: str) -> StreamingHttpResponse:
    """Every event in one line, streamed."""
    found = get_session(request.user, public_id)
    return csv_answer(request, f"occupancy-{found.public_id}.csv", csv_lines(found))


def csv_lines(session: Session) -> Iterator[tuple[object, ...]]:
    """The head and one line per event; unknown is empty, times carry their offset."""
    overhead = session.fixed_overhead_tokens
    yield CSV_COLUMNS
    for event in every_event(session):
        made_by = event.compaction_pass
        share = occupancy_pct(event.live_tokens, event.threshold_tokens, overhead or 0)
        yield (
            *(event.seq, event.at.isoformat() if event.at else "", event.kind),
            *(event.first_position, event.last_position, event.live_rows, event.live_tokens, overhead),
            *(event.threshold_tokens, share),
            *((made_by.number, made_by.kind, made_by.outcome) if made_by else ("", "", "")),
        )
