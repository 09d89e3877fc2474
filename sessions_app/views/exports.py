"""Exports: the page that offers them, and the files."""

from __future__ import annotations

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.access import get_session, may_write, require_writer
from sessions_app.exporting.formats import ExportFormat, export_answer, note_export
from sessions_app.origins import page_origin
from sessions_app.pages.session_head import read_head
from sessions_app.views.page_request import PageRequest


@require_safe
def exports(request: PageRequest, public_id: str) -> HttpResponse:
    """What can be had of a session as a file."""
    found = get_session(request.user, public_id)
    context = {"section": "sessions", "tab": "export", "session": found, "head": read_head(found)}
    context["may_write"] = may_write(request.user, found.project)
    return render(request, "session/export.html", context)


@require_safe
def export_file(request: PageRequest, public_id: str, ending: str) -> StreamingHttpResponse:
    """The file. With secrets only for those who may write, and only when the address says so."""
    found = get_session(request.user, public_id)
    if ending not in set(ExportFormat):
        raise Http404("no such format")
    is_redacted = "unredacted" not in request.GET
    if not is_redacted:
        require_writer(request.user, found.project)
    note_export(page_origin(request), found, ExportFormat(ending), is_redacted=is_redacted)
    return export_answer(request, found, ExportFormat(ending), is_redacted=is_redacted)
