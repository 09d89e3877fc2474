"""Appending rows: provider messages in, stored rows out.

Reading a message is lenient about its shape, because agents send what providers accept; every oddity is told in
`notes`. A role that is none is refused: whatever it was guessed to be would be wrong in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from ninja import Schema
from pydantic import AfterValidator, AwareDatetime, Field, WithJsonSchema

from compaction.formats.events import Problem as MessageProblem
from compaction.messages import Message, Role
from compaction.wire import message_from_openai
from sessions_app import clock
from sessions_app.api.errors import FieldProblem, unprocessable
from sessions_app.api.parameters import MOST_INT8, BodySchema, Text
from sessions_app.models import Session
from sessions_app.services import NewMessage, append_rows
from sessions_app.token_counting import site_counter

MOST_MESSAGES: Final = 500
ROLES: Final = (*(role.value for role in Role), "function")
EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Clocks go wrong by minutes; a day covers every zone that was forgotten.
LATEST_AHEAD: Final = timedelta(days=1)
Tokens = Annotated[int, Field(ge=0, le=MOST_INT8)]
_MESSAGE: Final = {
    "type": "object",
    "required": ["role"],
    "properties": {"role": {"type": "string", "enum": list(ROLES)}},
    "additionalProperties": True,
}
ProviderMessage = Annotated[dict[str, Any], WithJsonSchema(_MESSAGE)]


def require_sane(moment: datetime) -> datetime:
    """The time, or ValueError: one far away would move the session to the wrong place in every list."""
    if not EARLIEST <= moment <= clock.now() + LATEST_AHEAD:
        raise ValueError("lies before 1970 or more than a day ahead")
    return moment


class Usage(BodySchema):
    """Tokens as the provider reported them. What is left out is unknown."""

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cache_read_tokens: Tokens | None = None
    cache_write_tokens: Tokens | None = None


class NewRow(BodySchema):
    """A message with what its sender knows of it."""

    message: ProviderMessage = Field(description="As a provider takes it: role, content, tool_calls, tool_call_id, …")
    client_id: Text | None = Field(None, min_length=1, max_length=200, description="Your id: sent again, nothing new.")
    by_person: bool = Field(True, description="For user messages: a person wrote it, no tool or agent.")
    at: Annotated[AwareDatetime, AfterValidator(require_sane)] | None = Field(None, description="Now, if left out.")
    model: Text | None = Field(None, min_length=1, max_length=200)
    usage: Usage = Usage()


class NewRows(BodySchema):
    """Rows in the order in which they are to stand."""

    rows: list[NewRow] = Field(min_length=1, max_length=MOST_MESSAGES)


class Note(Schema):
    """Something odd about a message, which was taken all the same."""

    path: str
    kind: str
    detail: str


class AppendedShape(Schema):
    """What came of it. row_ids: of all rows as sent, also of those that were there already."""

    row_ids: list[int]
    added: int
    already_present: int
    last_seq: int
    notes: list[Note]


class MessageReader:
    """Reads the messages of a batch and collects what was odd about them, by place."""

    def __init__(self) -> None:
        self.notes: list[Note] = []

    def read(self, index: int, mapping: Mapping[str, Any]) -> Message:
        """One message."""

        def note(problem: MessageProblem) -> None:
            self.notes.append(Note(path=f"rows.{index}.message", kind=problem.kind.value, detail=problem.detail))

        return message_from_openai(mapping, note)


def append_to(session: Session, rows: Sequence[NewRow]) -> AppendedShape:
    """Append rows, all or none. Raises Refusal for messages without a role."""
    require_roles(rows)
    reader = MessageReader()
    messages = [new_message(reader.read(index, row.message), row) for index, row in enumerate(rows)]
    appended = append_rows(session.pk, messages, site_counter())
    return AppendedShape(
        row_ids=list(appended.row_ids),
        added=appended.added,
        already_present=appended.already_present,
        last_seq=appended.last_seq,
        notes=reader.notes,
    )


def require_roles(rows: Sequence[NewRow]) -> None:
    """Raise Refusal for messages without a role that a provider knows."""
    fields = [
        FieldProblem(path=f"rows.{index}.message.role", message=f"expected one of {', '.join(ROLES)}")
        for index, row in enumerate(rows)
        if not is_role(row.message.get("role"))
    ]
    if fields:
        raise unprocessable(fields)


def new_message(message: Message, row: NewRow) -> NewMessage:
    """The row as the service takes it."""
    return NewMessage(
        message,
        client_id=row.client_id,
        by_person=row.by_person,
        at=row.at,
        model=row.model,
        input_tokens=row.usage.input_tokens,
        output_tokens=row.usage.output_tokens,
        cache_read_tokens=row.usage.cache_read_tokens,
        cache_write_tokens=row.usage.cache_write_tokens,
    )


def is_role(value: object) -> bool:
    return isinstance(value, str) and value in ROLES
