"""The formats of an export, and how one is handed out."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from django.http import HttpRequest, StreamingHttpResponse

from sessions_app.exporting.html import html_pieces
from sessions_app.exporting.markdown import markdown_pieces
from sessions_app.exporting.records import RecordExporter
from sessions_app.models import AuditAction, Session
from sessions_app.services import record_audit
from sessions_app.services.audit import AuditOrigin
from sessions_app.streaming import streamed

LINES_TYPE: Final = "application/x-ndjson"


class ExportFormat(StrEnum):
    """One document, one record a line, a text to read, or a page to read."""

    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "md"
    HTML = "html"

    @property
    def media_type(self) -> str:
        """The content type."""
        return {
            ExportFormat.JSON: "application/json",
            ExportFormat.JSONL: LINES_TYPE,
            ExportFormat.MARKDOWN: "text/markdown; charset=utf-8",
            ExportFormat.HTML: "text/html; charset=utf-8",
        }[self]


def export_pieces(session: Session, export_format: ExportFormat, *, is_redacted: bool) -> Iterator[bytes]:
    """The export of a session, piece by piece: memory does not grow with the session."""
    match export_format:
        case ExportFormat.JSON:
            return RecordExporter(session, is_redacted=is_redacted).document()
        case ExportFormat.JSONL:
            return RecordExporter(session, is_redacted=is_redacted).lines()
        case ExportFormat.MARKDOWN:
            return markdown_pieces(session, is_redacted=is_redacted)
        case ExportFormat.HTML:
            return html_pieces(session, is_redacted=is_redacted)


def note_export(origin: AuditOrigin, session: Session, export_format: ExportFormat, *, is_redacted: bool) -> None:
    """Enter into the audit log that somebody took a copy."""
    record_audit(
        origin,
        AuditAction.SESSION_EXPORTED,
        project=session.project,
        subject=session.public_id,
        details=(("format", export_format.value), ("secrets", "masked" if is_redacted else "not masked")),
    )


def export_answer(
    request: HttpRequest, session: Session, export_format: ExportFormat, *, is_redacted: bool
) -> StreamingHttpResponse:
    """The export as a file to keep. Its name says when secrets are in it."""
    pieces = export_pieces(session, export_format, is_redacted=is_redacted)
    name = f"session-{session.public_id}{'' if is_redacted else '-unredacted'}.{export_format.value}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(streamed(request, pieces), content_type=export_format.media_type, headers=headers)
