"""The session page: the transcript, and the parts of it that are loaded on demand."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from sessions_app.access import get_session
from sessions_app.forms import TranscriptForm
from sessions_app.models import Session
from sessions_app.pages.find import read_find
from sessions_app.pages.jump import jump_address, no_such_row
from sessions_app.pages.model_view import read_model_page
from sessions_app.pages.session_head import read_head
from sessions_app.pages.side import read_side
from sessions_app.pages.transcript import RowFilter, TranscriptReader
from sessions_app.pages.zone_labels import with_zone_labels
from sessions_app.views.page_request import PageRequest


@require_safe
def session(request: PageRequest, public_id: str) -> HttpResponse:
    """The transcript around the place the address names, or a piece of it for htmx."""
    found = get_session(request.user, public_id)
    form = TranscriptForm(request.GET)
    row_filter, place = form.row_filter(), form.place()
    if (position := form.jump_position()) is not None:
        return redirect(request.path + jump_address(found, position, row_filter))
    find = read_find(found, form.find_words(), place.position)
    if find is not None and find.first and place.position is None and not place.is_gap:
        return redirect(request.path + find.first)
    head = read_head(found)
    context: dict[str, Any] = {"section": "sessions", "tab": "transcript", "session": found, "head": head}
    context |= {"row_filter": row_filter, "find": find}
    if row_filter is RowFilter.MODEL:
        context["model_page"] = read_model_page(found, place.after, form.seq())
        return render(request, "session/model.html", with_frame(found, context))
    transcript = TranscriptReader(found, row_filter, head.outlook).read(place)
    context["no_such_row"] = no_such_row(found, place.position, row_filter)
    context |= {"items": with_zone_labels(transcript.items, head, row_filter), "place": place}
    if request.htmx and place.is_gap:
        return render(request, "session/_items.html", context)
    return render(request, "session/transcript.html", with_frame(found, context))


def with_frame(found: Session, context: dict[str, Any]) -> dict[str, Any]:
    """What stands around the rows of a whole page."""
    return context | {"side": read_side(found)}
