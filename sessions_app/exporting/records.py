"""The records of a session as JSON: one document, or one record a line.

Rows, passes, summaries and prompts have the shapes of the API's operations, so an export can be read with the same
code. It says of itself whether secrets are masked; a redacted one is no copy that could stand for the original.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from compaction.formats.own_export import FORMAT, VERSION
from compaction.redaction import redact, redact_message
from compaction.storable import storable_value
from compaction.wire import message_from_openai, message_to_openai
from sessions_app.api.passes import PassShape, shape_pass
from sessions_app.api.prompts import shape_prompt
from sessions_app.api.rows import shape_row
from sessions_app.api.sessions import shape_session
from sessions_app.api.summaries import shape_summary
from sessions_app.mapping import message_of
from sessions_app.models import CompactionPass, MessageRow, Session, SessionPrompt, SummaryRevision
from sessions_app.queries.prompts import prompts_of
from sessions_app.queries.row_pages import CHUNK_ROWS, rows_of
from sessions_app.queries.summary_pages import summaries_of


class RecordExporter:
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
            ("prompts", "prompt", self._prompts),
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
        return (self._pass(one) for one in passes.order_by("number").iterator(CHUNK_ROWS))

    def _pass(self, stored: CompactionPass) -> dict[str, Any]:
        shape = shape_pass(stored)
        if self._is_redacted:
            shape.detail = redact(shape.detail).text
            shape.notes = None if shape.notes is None else [redact(note).text for note in shape.notes]
        return shape.model_dump(mode="json")

    def _summaries(self) -> Iterator[dict[str, Any]]:
        return (self._summary(one) for one in summaries_of(self._session.pk).iterator(CHUNK_ROWS))

    def _summary(self, stored: SummaryRevision) -> dict[str, Any]:
        shape = shape_summary(stored)
        if self._is_redacted and shape.text is not None:
            shape.text = redact(shape.text).text
        return shape.model_dump(mode="json")

    def _prompts(self) -> Iterator[dict[str, Any]]:
        return (self._prompt(one) for one in prompts_of(self._session.pk).iterator(CHUNK_ROWS))

    def _prompt(self, stored: SessionPrompt) -> dict[str, Any]:
        shape = shape_prompt(stored)
        if self._is_redacted:
            read = (message_from_openai(message, lambda problem: None) for message in shape.messages)
            shape.messages = [message_to_openai(redact_message(message)) for message in read]
            shape.tools = redacted_value(shape.tools)
        return shape.model_dump(mode="json")


def redacted_value(value: Any) -> Any:
    """JSON data with its texts masked."""
    if isinstance(value, str):
        return redact(value).text
    if isinstance(value, dict):
        return {key: redacted_value(inner) for key, inner in value.items()}
    return [redacted_value(inner) for inner in value] if isinstance(value, list) else value


def text_of(record: dict[str, Any]) -> str:
    """A record as JSON on one line."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else json.dumps(storable_value(record), ensure_ascii=False, separators=(",", ":"))
