"""The records of a session as JSON: one document, or one record a line.

Rows, passes, summaries and prompts have the shapes of the API's operations, so an export can be read with the same
code. It says of itself whether secrets are masked; a redacted one is no copy that could stand for the original.

One that is not redacted can: beside the shapes it holds, under `stored` and in lists of its own, all that is stored of
the session, so that importing it gives the same session at every event. Ids of rows are those of this site; whoever
reads them gives out others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any, Final

from compaction.formats.own_export import FORMAT, VERSION
from compaction.redaction import redact, redact_message
from compaction.storable import storable_value
from compaction.wire import message_from_openai, message_to_openai
from sessions_app.api.passes import PassShape, shape_pass
from sessions_app.api.prompts import shape_prompt
from sessions_app.api.rows import shape_row
from sessions_app.api.sessions import shape_session
from sessions_app.api.summaries import shape_summary
from sessions_app.mapping import message_columns, message_of
from sessions_app.models import CompactionPass, ModelCall, Session, SessionEvent, SessionPrompt, SummaryRevision
from sessions_app.queries.snapshot import RowThen, Snapshot
from sessions_app.stored_columns import columns_of, own_columns

Records = Iterator[dict[str, Any]]
# Of a session its makers, its place in the lists, and its counters, which its rows say again, are the copy's own.
SESSION_COLUMNS: Final = (
    *("state", "compaction_revision", "reset_seq", "next_position", "held_until_turn", "is_damaged"),
    *("threshold_tokens", "threshold_source"),
)
PASS_COLUMNS: Final = frozenset(field.name for field in own_columns(CompactionPass)) - PassShape.model_fields.keys()


class RecordExporter:
    """Writes one session, record by record, as it is at the newest event now."""

    def __init__(self, session: Session, *, is_redacted: bool) -> None:
        self._snapshot = Snapshot(session)
        self._session = self._snapshot.session
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
        """One JSON object a line. The last one of an export with everything says how many there are of each kind."""
        yield text_of({"record": "session", **self._head()}).encode() + b"\n"
        counts: dict[str, int] = {}
        for plural, name, records in self._lists():
            counts[plural] = 0
            for record in records():
                counts[plural] += 1
                yield text_of({"record": name, **record}).encode() + b"\n"
        if not self._is_redacted:
            yield text_of({"record": "end", "counts": counts}).encode() + b"\n"

    def _head(self) -> dict[str, Any]:
        session = shape_session(self._session)
        if self._is_redacted:
            session.title, session.last_error = redact(session.title).text, redact(session.last_error).text
        head = {"format": FORMAT, "version": VERSION, "redacted": self._is_redacted}
        shape = session.model_dump(mode="json")
        if not self._is_redacted:
            shape["stored"] = columns_of(self._session, SESSION_COLUMNS)
        return {**head, "session": shape}

    def _lists(self) -> Iterable[tuple[str, str, Callable[[], Records]]]:
        told: tuple[tuple[str, str, Callable[[], Records]], ...] = (
            ("rows", "row", self._rows),
            ("passes", "pass", self._passes),
            ("summaries", "summary", self._summaries),
            ("prompts", "prompt", self._prompts),
        )
        stored: tuple[tuple[str, str, Callable[[], Records]], ...] = (
            ("events", "event", self._events),
            ("turns", "turn", self._turns),
            ("calls", "call", self._calls),
        )
        return told if self._is_redacted else (*told, *stored)

    def _rows(self) -> Records:
        return (self._row(then) for then in self._snapshot.rows(with_raw=not self._is_redacted))

    def _row(self, then: RowThen) -> dict[str, Any]:
        shape = shape_row(then.row)
        if self._is_redacted:
            shape.message = message_to_openai(redact_message(message_of(then.row)))
            return shape.model_dump(mode="json")
        return {**shape.model_dump(mode="json"), "stored": stored_of_row(then, shape.message)}

    def _passes(self) -> Records:
        columns = tuple(PassShape.model_fields) if self._is_redacted else ()
        return (self._pass(one) for one in self._snapshot.passes(*columns))

    def _pass(self, stored: CompactionPass) -> dict[str, Any]:
        shape = shape_pass(stored)
        if not self._is_redacted:
            return {**shape.model_dump(mode="json"), "stored": columns_of(stored, PASS_COLUMNS)}
        shape.detail = redact(shape.detail).text
        shape.notes = None if shape.notes is None else [redact(note).text for note in shape.notes]
        return shape.model_dump(mode="json")

    def _summaries(self) -> Records:
        return (self._summary(one) for one in self._snapshot.summaries())

    def _summary(self, stored: SummaryRevision) -> dict[str, Any]:
        shape = shape_summary(stored)
        if self._is_redacted and shape.text is not None:
            shape.text = redact(shape.text).text
        return shape.model_dump(mode="json")

    def _prompts(self) -> Records:
        return (self._prompt(one) for one in self._snapshot.prompts())

    def _prompt(self, stored: SessionPrompt) -> dict[str, Any]:
        shape = shape_prompt(stored)
        if not self._is_redacted:
            return {**shape.model_dump(mode="json"), "stored": {"digest": stored.digest}}
        read = (message_from_openai(message, lambda problem: None) for message in shape.messages)
        shape.messages = [message_to_openai(redact_message(message)) for message in read]
        shape.tools = redacted_value(shape.tools)
        return shape.model_dump(mode="json")

    def _events(self) -> Records:
        return ({**columns_of(event), "pass": number_of(event)} for event in self._snapshot.events())

    def _turns(self) -> Records:
        return map(columns_of, self._snapshot.turns())

    def _calls(self) -> Records:
        return ({**columns_of(call), "pass": number_of(call)} for call in self._snapshot.calls())


def number_of(record: SessionEvent | ModelCall) -> int | None:
    """Number of the pass a record is about."""
    return None if record.compaction_pass is None else record.compaction_pass.number


def stored_of_row(then: RowThen, told: dict[str, Any]) -> dict[str, Any]:
    """What is stored of a row beside what its shape tells. message: only where `told` does not say all of it, or
    says it oddly."""
    row, message = then.row, message_of(then.row)
    stored: dict[str, Any] = {
        "foreign_id": row.foreign_id,
        "lives": [asdict(life) for life in then.earlier],
        "raw": row.raw,
        "source_line": row.source_line,
        "is_repaired": row.is_repaired,
    }
    problems: list[object] = []
    if message_from_openai(told, problems.append) != message or problems:
        stored["message"] = message_columns(row)
    return stored


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
