"""Exports: a whole session as JSON, JSON lines, Markdown or one HTML page, streamed.

Secrets are masked unless the reader says otherwise, and the export itself says whether they are. Rows, passes and
summaries have the shapes of the other operations, so an export can be read with the same code.
"""

from __future__ import annotations

from typing import Final

from django.http import StreamingHttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from sessions_app.api.answers import reads
from sessions_app.api.authentication import ApiRequest
from sessions_app.api.errors import Refusal
from sessions_app.api.parameters import PublicId
from sessions_app.api.passes import PassShape
from sessions_app.api.prompts import PromptShape
from sessions_app.api.reach import get_session
from sessions_app.api.rows import RowShape
from sessions_app.api.sessions import SessionShape
from sessions_app.api.summaries import SummaryShape
from sessions_app.exporting.formats import LINES_TYPE, ExportFormat, export_answer, note_export
from sessions_app.origins import token_origin

router = Router(tags=["exports"])


class ExportQuery(Schema):
    """How to export."""

    format: ExportFormat = ExportFormat.JSON
    redact: bool = Field(True, description="Mask secrets. Only a token that may write can ask for them.")


class Export(Schema):
    """A whole session. As JSON lines: a line with everything but the lists, then each record with a `record` key."""

    format: str
    version: int
    redacted: bool = Field(description="Secrets are masked as [REDACTED].")
    session: SessionShape
    rows: list[RowShape]
    passes: list[PassShape]
    summaries: list[SummaryShape]
    prompts: list[PromptShape]


_TEXT: Final = {"schema": {"type": "string"}}
_OTHERS: Final = {"responses": {200: {"content": dict.fromkeys((LINES_TYPE, "text/markdown", "text/html"), _TEXT)}}}


@router.get(
    "/sessions/{public_id}/export", response=reads(Export), operation_id="export_session", openapi_extra=_OTHERS
)
def export(request: ApiRequest, public_id: PublicId, query: Query[ExportQuery]) -> StreamingHttpResponse:
    """Everything that is stored of a session: rows live and archived, passes, summaries, and what was sent beside."""
    session = get_session(request.auth, public_id)
    if not query.redact and not request.auth.may_write:
        raise Refusal(403, "forbidden", "Only a token that may write can export secrets.")
    note_export(token_origin(request, request.auth), session, query.format, is_redacted=query.redact)
    return export_answer(request, session, query.format, is_redacted=query.redact)
