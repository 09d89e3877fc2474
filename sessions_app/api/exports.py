"""Exports: a whole session as one JSON document or as JSON lines, streamed.

Secrets are masked unless the reader says otherwise, and the export itself says whether they are. Rows, passes and
summaries have the shapes of the other operations, so an export can be read with the same code.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from enum import StrEnum
from typing import Any, Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from compaction.redaction import redact, redact_message
from compaction.storable import storable_value
from compaction.wire import message_to_openai
from sessions_app.api.answers import reads
from sessions_app.api.authentication import ApiRequest
from sessions_app.api.parameters import PublicId
from sessions_app.api.passes import PassShape, shape_pass
from sessions_app.api.reach import get_session
from sessions_app.api.rows import RowShape, shape_row
from sessions_app.api.sessions import SessionShape, shape_session
from sessions_app.api.summaries import SummaryShape, shape_summary
from sessions_app.mapping import message_of
from sessions_app.models import AuditAction, CompactionPass, MessageRow, Session, SummaryRevision
from sessions_app.origins import token_origin
from sessions_app.queries.row_pages import CHUNK_ROWS, rows_of
from sessions_app.queries.summary_pages import summaries_of
from sessions_app.services import record_audit

router = Router(tags=["exports"])

FORMAT: Final = "hermes-sessions-export"
VERSION: Final = 1
LINES_TYPE: Final = "application/x-ndjson"
BLOCK_BYTES: Final = 64 * 1024


class ExportFormat(StrEnum):
    """One document, or one record a line, which can be read as it comes."""

    JSON = "json"
    JSONL = "jsonl"

    @property
    def media_type(self) -> str:
        """The content type."""
        return {ExportFormat.JSON: "application/json", ExportFormat.JSONL: LINES_TYPE}[self]


class ExportQuery(Schema):
    """How to export."""

    format: ExportFormat = ExportFormat.JSON
    redact: bool = Field(True, description="Mask secrets. Without it the export holds whatever was said.")


class Export(Schema):
    """A whole session. As JSON lines: a line with everything but the lists, then each record with a `record` key."""

    format: str
    version: int
    redacted: bool = Field(description="Secrets are masked as [REDACTED].")
    session: SessionShape
    rows: list[RowShape]
    passes: list[PassShape]
    summaries: list[SummaryShape]


_LINES: Final = {"responses": {200: {"content": {LINES_TYPE: {"schema": {"type": "string"}}}}}}


@router.get("/sessions/{public_id}/export", response=reads(Export), operation_id="export_session", openapi_extra=_LINES)
def export(request: ApiRequest, public_id: PublicId, query: Query[ExportQuery]) -> StreamingHttpResponse:
    """Everything that is stored of a session: rows live and archived, passes, summaries."""
    session = get_session(request.auth, public_id)
    exporter = Exporter(session, is_redacted=query.redact)
    record_audit(
        token_origin(request, request.auth),
        AuditAction.SESSION_EXPORTED,
        project=session.project,
        subject=session.public_id,
        details=(("format", query.format.value), ("secrets", "masked" if query.redact else "not masked")),
    )
    pieces = exporter.document() if query.format is ExportFormat.JSON else exporter.lines()
    name = f"session-{session.public_id}{'' if query.redact else '-unredacted'}.{query.format.value}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    streamed = in_background(pieces) if isinstance(request, ASGIRequest) else pieces
    return StreamingHttpResponse(streamed, content_type=query.format.media_type, headers=headers)


async def in_background(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, some at a time, made in the thread that holds the database connection."""
    take = sync_to_async(next_block)
    while block := await take(pieces):
        yield block


def next_block(pieces: Iterator[bytes]) -> bytes:
    """The next pieces joined, so that a record is not a hop between threads each; empty at the end."""
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= BLOCK_BYTES:
            break
    return bytes(block)


class Exporter:
    """Writes one session, record by record."""

    def __init__(self, session: Session, *, is_redacted: bool) -> None:
        self._session = session
        self._is_redacted = is_redacted

    def document(self) -> Iterator[bytes]:
        """One JSON object."""
        yield text_of(self._head()).encode()[:-1]
        for plural, _, records in self._lists():
            yield f',"{plural}":['.encode()
            for number, record in enumerate(records()):
                yield (b"," if number else b"") + text_of(record).encode()
            yield b"]"
        yield b"}\n"

    def lines(self) -> Iterator[bytes]:
        """One JSON object a line."""
        yield text_of({"record": "session", **self._head()}).encode() + b"\n"
        for _, name, records in self._lists():
            for record in records():
                yield text_of({"record": name, **record}).encode() + b"\n"

    def _head(self) -> dict[str, Any]:
        session = shape_session(self._session)
        if self._is_redacted:
            session.title, session.last_error = redact(session.title).text, redact(session.last_error).text
        head = {"format": FORMAT, "version": VERSION, "redacted": self._is_redacted}
        return {**head, "session": session.model_dump(mode="json")}

    def _lists(self) -> Iterable[tuple[str, str, Callable[[], Iterator[dict[str, Any]]]]]:
        return (
            ("rows", "row", self._rows),
            ("passes", "pass", self._passes),
            ("summaries", "summary", self._summaries),
        )

    def _rows(self) -> Iterator[dict[str, Any]]:
        rows = rows_of(self._session.pk).defer("raw").order_by("position", "id")
        return (self._row(row) for row in rows.iterator(CHUNK_ROWS))

    def _row(self, row: MessageRow) -> dict[str, Any]:
        shape = shape_row(row)
        if self._is_redacted:
            shape.message = message_to_openai(redact_message(message_of(row)))
        return shape.model_dump(mode="json")

    def _passes(self) -> Iterator[dict[str, Any]]:
        passes = CompactionPass.objects.filter(session_id=self._session.pk).only(*PassShape.model_fields)
        return (shape_pass(one).model_dump(mode="json") for one in passes.order_by("number").iterator(CHUNK_ROWS))

    def _summaries(self) -> Iterator[dict[str, Any]]:
        return (self._summary(one) for one in summaries_of(self._session.pk).iterator(CHUNK_ROWS))

    def _summary(self, stored: SummaryRevision) -> dict[str, Any]:
        shape = shape_summary(stored)
        if self._is_redacted and shape.text is not None:
            shape.text = redact(shape.text).text
        return shape.model_dump(mode="json")


def text_of(record: dict[str, Any]) -> str:
    """A record as JSON on one line."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else json.dumps(storable_value(record), ensure_ascii=False, separators=(",", ":"))
