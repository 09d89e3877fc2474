"""What exports for people go through: the rows of a session in order, with their passes, as they are to be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compaction.messages import ImagePart, Message, OtherPart, RowKind
from compaction.redaction import redact, redact_message
from sessions_app.mapping import message_of
from sessions_app.models import MessageRow, Session
from sessions_app.pages.summary_text import unframed
from sessions_app.queries.snapshot import Snapshot
from sessions_app.rendering.markdown import without_terminal_codes


@dataclass(frozen=True, slots=True)
class ToldCall:
    """A tool call as it is told."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToldRow:
    """One row for people. text: without terminal codes, a summary without its frame. parts: what is not text."""

    row: MessageRow
    text: str
    reasoning: str
    calls: tuple[ToldCall, ...]
    parts: tuple[str, ...]

    @property
    def is_summary(self) -> bool:
        return RowKind(self.row.kind).is_summary

    @property
    def is_stub(self) -> bool:
        return self.row.kind == RowKind.PRUNE_STUB


def told_title(session: Session, *, is_redacted: bool) -> str:
    """The title, or the id of a session without one."""
    title = session.title or session.public_id
    return redact(title).text if is_redacted else title


def told_rows(session: Session, *, is_redacted: bool) -> Iterator[ToldRow]:
    """Every row in order, a few at a time."""
    return (told_row(then.row, is_redacted=is_redacted) for then in Snapshot(session).rows())


def told_row(row: MessageRow, *, is_redacted: bool) -> ToldRow:
    """One row, masked or as it is."""
    message = redact_message(message_of(row)) if is_redacted else message_of(row)
    text = unframed(message.text) if RowKind(row.kind).is_summary else message.text
    calls = tuple(ToldCall(call.name, call.arguments) for call in message.tool_calls)
    return ToldRow(row, without_terminal_codes(text), message.reasoning or "", calls, other_parts(message))


def other_parts(message: Message) -> tuple[str, ...]:
    """What a message holds beside text, by kind and size; the bytes of pictures stay where they are."""
    parts = message.content if isinstance(message.content, tuple) else ()
    return tuple(
        f"{'picture' if isinstance(part, ImagePart) else part.type}, {len(part.raw):,} characters"
        for part in parts
        if isinstance(part, ImagePart | OtherPart)
    )
