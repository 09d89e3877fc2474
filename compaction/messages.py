"""Messages and rows: the values everything else is about.

A `Message` is what a provider would see of one row. A `Row` is a message with its place in a session: identity,
position, kind and cost. Both are immutable; a row is written once and never rewritten, so these values can be shared
freely. This module knows nothing of storage, of formats or of what compaction does with rows.

Order is by `RowKey`: position first, then id. A summary row takes the position of the first row it replaces, so a
position is also the row's number for people: 0-based over the rows that were ever appended.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """Who speaks, in the providers' words."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class RowKind(StrEnum):
    """What a row is. Stored, never guessed from its role, its text or its place."""

    MESSAGE = "message"
    MICRO_SUMMARY = "micro_summary"
    BATCH_SUMMARY = "batch_summary"
    PRUNE_STUB = "prune_stub"

    @property
    def is_summary(self) -> bool:
        """Whether rows of this kind stand for rows that left the live context."""
        return self in (RowKind.MICRO_SUMMARY, RowKind.BATCH_SUMMARY)


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text in list content."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture in list content; `raw` is the part's JSON as the provider takes it."""

    raw: str


@dataclass(frozen=True, slots=True)
class OtherPart:
    """A part of a type the engine does not know; `raw` is its JSON, kept as it came."""

    type: str
    raw: str


Part = TextPart | ImagePart | OtherPart
Content = str | tuple[Part, ...] | None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call an assistant asked for. `arguments` is the provider's string, which need not be valid JSON.

    `id` is None when the source gave none: such a call matches no result. `aliases` are further ids by which results
    of some providers name this call; `extras` is the JSON object of keys the engine does not use.
    """

    id: str | None
    name: str
    arguments: str
    aliases: tuple[str, ...] = ()
    extras: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One provider message. `extras` is the JSON object of keys the engine does not use, kept for the way back."""

    role: Role
    content: Content = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    reasoning: str | None = None
    extras: str = ""

    @property
    def text(self) -> str:
        """All text of the content, parts joined by line breaks; empty when there is none."""
        if self.content is None:
            return ""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))

    @property
    def has_content(self) -> bool:
        """Whether there is text that is not blank, or any part that is not text."""
        return has_content(self.content)


def has_content(content: Content) -> bool:
    """Whether `content` holds text that is not blank, or any part that is not text."""
    if content is None or isinstance(content, str):
        return bool(content and content.strip())
    return any(not isinstance(part, TextPart) or part.text.strip() for part in content)


class RowKey(NamedTuple):
    """A row's place: rows are ordered by it, and a cursor is one."""

    position: int
    id: int


@dataclass(frozen=True, slots=True)
class Row:
    """A message in a session.

    id: given by storage (or the row's number in a file); unique in the session, and rising with birth.
    tokens: the stored cost (see `tokens`); reasoning_tokens are counted apart, None when unknown.
    by_person: for user rows, whether a person wrote it; text that a tool or agent injects as user is not a turn.
    """

    id: int
    position: int
    message: Message
    tokens: int
    kind: RowKind = RowKind.MESSAGE
    by_person: bool = True
    reasoning_tokens: int | None = None

    @property
    def key(self) -> RowKey:
        """The row's place in the order of its session."""
        return RowKey(self.position, self.id)

    @property
    def role(self) -> Role:
        """The message's role."""
        return self.message.role

    @property
    def is_summary(self) -> bool:
        """Whether the row stands for rows that left the live context."""
        return self.kind.is_summary

    @property
    def is_user(self) -> bool:
        """Whether the row is a user row of the transcript itself, whoever wrote it."""
        return self.role is Role.USER and not self.is_summary

    @property
    def opens_turn(self) -> bool:
        """Whether the row is a person's request: the place where a turn may begin."""
        return opens_turn(self.role, self.kind, self.by_person)


def opens_turn(role: Role, kind: RowKind, by_person: bool) -> bool:
    """Whether a row of this role and kind is a person's request: the place where a turn may begin."""
    return role is Role.USER and by_person and not kind.is_summary
