"""What is loaded of rows on demand: the rows of a pass, a whole text, the raw record, a picture."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from sessions_app.access import get_session
from sessions_app.forms import PieceForm, TranscriptForm
from sessions_app.models import CompactionPass, MessageRow
from sessions_app.pages.group import read_group
from sessions_app.pages.row_text import raw_json, read_picture, read_text
from sessions_app.views.page_request import PageRequest


@require_safe
def group_rows(request: PageRequest, public_id: str) -> HttpResponse:
    """Archived neighbours of one pass, between two keys."""
    found = get_session(request.user, public_id)
    form = TranscriptForm(request.GET)
    place, number = form.place(), form.pass_number()
    if place.after is None or place.before is None:
        raise Http404("no such rows")
    made_by = (
        None if number is None else get_object_or_404(CompactionPass.objects.only("id"), session=found, number=number)
    )
    group = read_group(found, made_by.pk if made_by else None, place.after, place.before)
    is_more = "more" in request.GET
    context = {"session": found, "rows": group.rows, "rest": group.rest, "number": number}
    context["superseded"] = () if is_more else group.superseded
    return render(request, "session/_more_rows.html" if is_more else "session/_group_rows.html", context)


@require_safe
def row_text(request: PageRequest, public_id: str, row_id: int) -> HttpResponse:
    """The whole text of a row, in pieces: inside its row for htmx, else as a page."""
    found = get_session(request.user, public_id)
    form = PieceForm(request.GET)
    piece = read_text(found, row_id, form.first_char())
    if piece is None:
        raise Http404("no such row")
    template = "session/_row_text.html" if request.htmx else "session/row_text.html"
    return render(
        request, template, {"section": "sessions", "session": found, "piece": piece, "part": form.part_name()}
    )


@require_safe
def row_raw(request: PageRequest, public_id: str, row_id: int) -> HttpResponse:
    """The stored row and the source's record as JSON."""
    found = get_session(request.user, public_id)
    row = get_object_or_404(MessageRow.objects.select_related("made_by", "archived_by"), session=found, id=row_id)
    return HttpResponse(raw_json(row), content_type="application/json; charset=utf-8")


@require_safe
def row_picture(request: PageRequest, public_id: str, row_id: int, part_number: int) -> HttpResponse:
    """A picture from our own origin. Nothing in it can act: the type is one of four, and sniffing is off."""
    found = get_session(request.user, public_id)
    row = get_object_or_404(MessageRow.objects.only("id", "session_id", "parts"), session=found, id=row_id)
    picture = read_picture(row, part_number)
    if picture is None:
        raise Http404("no picture here")
    return HttpResponse(
        picture.content, content_type=picture.media_type, headers={"Cache-Control": "private, max-age=86400"}
    )
