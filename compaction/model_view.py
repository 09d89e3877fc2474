"""The model view: live rows as messages that a provider accepts.

Rows stay as they are; the view is made anew for each request and says what it had to repair. Input that is valid
already comes out unchanged, and appending after a finished turn leaves the former view a prefix of the new one, so a
provider's prompt cache stays warm (ENGINE 9). Every list that goes to a model is made here, whatever path it took.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from compaction.messages import Content, Message, Part, Role, Row, RowKind, TextPart, has_content
from compaction.policy import ResendReasoning
from compaction.tool_pairs import Round, open_round, pair_rounds

# Put in front of a conversation that the agent opens: providers want a user to speak first. It stands in front, not
# behind, so that later requests leave what was sent before unchanged.
OPENING_REQUEST: Final = "(The conversation begins with the assistant.)"
# A user's message without any content that stands between two answers: providers refuse empty messages, and leaving it
# out would join the answers and change what was sent before.
EMPTY_REQUEST: Final = "(empty message)"


class Profile(StrEnum):
    """What a provider insists on. `strict`: neighbouring messages of one role are merged. `free`: they may stay."""

    STRICT = "strict"
    FREE = "free"


class RepairKind(StrEnum):
    """What the view changed to make the rows provider-legal."""

    MERGED_NEIGHBOURS = "merged_neighbours"
    DROPPED_RESULT = "dropped_result"
    DROPPED_CALL = "dropped_call"
    DROPPED_EMPTY = "dropped_empty"
    FILLED_EMPTY = "filled_empty"
    MOVED_RESULT = "moved_result"
    ADDED_USER = "added_user"
    SUMMARY_AS_USER = "summary_as_user"


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair and the rows it concerns."""

    kind: RepairKind
    row_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ViewMessage:
    """A message of the view and the rows it was made of, in order; none for a message that was added."""

    message: Message
    row_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ModelView:
    """What the model sees, and what was repaired on the way."""

    entries: tuple[ViewMessage, ...]
    repairs: tuple[Repair, ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The provider messages alone."""
        return tuple(entry.message for entry in self.entries)


def model_view(
    rows: Sequence[Row], profile: Profile = Profile.STRICT, resend: ResendReasoning = ResendReasoning.ALL
) -> ModelView:
    """The view of live `rows`, which must be in order. resend: which reasoning goes along."""
    repairs: list[Repair] = []
    rows = with_resent_reasoning(rows, resend)
    entries = list(_paired(_not_empty(rows, repairs), repairs))
    entries = _with_summary_roles(entries, rows, repairs)
    if profile is Profile.STRICT:
        entries = list(_merged(entries, repairs))
    entries = [_filled(entry, repairs) for entry in entries]
    return ModelView(tuple(_opened_by_user(entries, repairs)), tuple(repairs))


def with_resent_reasoning(rows: Sequence[Row], resend: ResendReasoning) -> Sequence[Row]:
    """`rows` without the reasoning that is not sent again. The newest turn is the one that is being answered."""
    if resend is ResendReasoning.ALL:
        return rows
    newest = next((n for n in range(len(rows) - 1, -1, -1) if rows[n].opens_turn), 0)
    kept = newest if resend is ResendReasoning.LAST_TURN else len(rows)
    return [row if n >= kept or row.message.reasoning is None else _unreasoned(row) for n, row in enumerate(rows)]


def _unreasoned(row: Row) -> Row:
    return replace(row, message=replace(row.message, reasoning=None), reasoning_tokens=None)


def _not_empty(rows: Sequence[Row], repairs: list[Repair]) -> list[Row]:
    kept = []
    for row in rows:
        if row.message.has_content or row.message.tool_calls or row.role in (Role.TOOL, Role.USER):
            kept.append(row)
        else:
            repairs.append(Repair(RepairKind.DROPPED_EMPTY, (row.id,)))
    return kept


def _paired(rows: Sequence[Row], repairs: list[Repair]) -> Iterator[ViewMessage]:
    """Rows with every result directly behind its call; calls and results without a partner are left out."""
    messages = [row.message for row in rows]
    rounds = pair_rounds(messages)
    running = open_round(messages, rounds)
    placed = {index for found in rounds.values() for index in found.results}
    for index, row in enumerate(rows):
        if row.role is Role.TOOL:
            if index not in placed:
                repairs.append(Repair(RepairKind.DROPPED_RESULT, (row.id,)))
        elif index in rounds:
            yield from _round_entries(rows, rounds[index], rounds[index] is running, repairs)
        else:
            yield ViewMessage(row.message, (row.id,))


def _round_entries(rows: Sequence[Row], found: Round, is_running: bool, repairs: list[Repair]) -> Iterator[ViewMessage]:
    row = rows[found.index]
    message = row.message
    if found.waiting and not is_running:
        repairs.append(Repair(RepairKind.DROPPED_CALL, (row.id,)))
        answered = found.answered
        message = replace(message, tool_calls=tuple(call for call in message.tool_calls if _holds(answered, call)))
    if message.tool_calls or message.has_content:
        yield ViewMessage(message, (row.id,))
    for offset, index in enumerate(found.results, start=1):
        if index != found.index + offset:
            repairs.append(Repair(RepairKind.MOVED_RESULT, (rows[index].id,)))
        yield ViewMessage(rows[index].message, (rows[index].id,))


def _filled(entry: ViewMessage, repairs: list[Repair]) -> ViewMessage:
    """`entry`, or a mark in place of a user's message that holds nothing."""
    if entry.message.role is not Role.USER or entry.message.has_content:
        return entry
    repairs.append(Repair(RepairKind.FILLED_EMPTY, entry.row_ids))
    return ViewMessage(replace(entry.message, content=EMPTY_REQUEST), entry.row_ids)


def _opened_by_user(entries: list[ViewMessage], repairs: list[Repair]) -> list[ViewMessage]:
    """`entries` with a user's message as the first one behind the system prompt."""
    first = next((n for n, entry in enumerate(entries) if not is_system(entry.message)), len(entries))
    if first < len(entries) and entries[first].message.role is Role.USER:
        return entries
    repairs.append(Repair(RepairKind.ADDED_USER, ()))
    return [*entries[:first], ViewMessage(Message(Role.USER, OPENING_REQUEST), ()), *entries[first:]]


def is_system(message: Message) -> bool:
    """Whether the operator speaks, not the user or the agent."""
    return message.role in (Role.SYSTEM, Role.DEVELOPER)


def _holds(calls: Iterable[object], wanted: object) -> bool:
    return any(call is wanted for call in calls)


def _with_summary_roles(entries: list[ViewMessage], rows: Sequence[Row], repairs: list[Repair]) -> list[ViewMessage]:
    """Batch summaries in the role that keeps the provider's rules: user where nothing or the agent speaks before,
    or where no other user message is left; else assistant (ENGINE 8.9). A micro summary is always the agent's."""
    batch_ids = {row.id for row in rows if row.kind is RowKind.BATCH_SUMMARY}
    if not batch_ids:
        return entries
    has_user = any(entry.message.role is Role.USER for entry in entries)
    result: list[ViewMessage] = []
    for entry in entries:
        if batch_ids.intersection(entry.row_ids):
            before = result[-1].message.role if result else Role.SYSTEM
            role = Role.ASSISTANT if before is Role.USER and has_user else Role.USER
            if role is not entry.message.role:
                repairs.append(Repair(RepairKind.SUMMARY_AS_USER, entry.row_ids))
            entry = ViewMessage(replace(entry.message, role=role), entry.row_ids)
        result.append(entry)
    return result


def _merged(entries: Iterable[ViewMessage], repairs: list[Repair]) -> Iterator[ViewMessage]:
    """Neighbouring messages of one speaker as one, texts separated by a blank line."""
    current: ViewMessage | None = None
    for entry in entries:
        if current is not None and can_merge(current.message, entry.message):
            current = ViewMessage(merge(current.message, entry.message), current.row_ids + entry.row_ids)
            continue
        if current is not None:
            yield _noted(current, repairs)
        current = entry
    if current is not None:
        yield _noted(current, repairs)


def _noted(entry: ViewMessage, repairs: list[Repair]) -> ViewMessage:
    if len(entry.row_ids) > 1:
        repairs.append(Repair(RepairKind.MERGED_NEIGHBOURS, entry.row_ids))
    return entry


def can_merge(first: Message, second: Message) -> bool:
    """Whether two neighbouring messages must be one under the strict profile."""
    if first.role is not second.role or first.role not in (Role.USER, Role.ASSISTANT):
        return False
    return not first.tool_calls


def merge(first: Message, second: Message) -> Message:
    """Both messages as one; the calls are the second one's, because a message with calls is never the first."""
    reasoning = "\n\n".join(text for text in (first.reasoning, second.reasoning) if text) or None
    content = _joined(first.content, second.content)
    return replace(first, content=content, tool_calls=second.tool_calls, reasoning=reasoning)


def _joined(first: Content, second: Content) -> Content:
    """Both contents with a blank line between; a content without anything in it adds nothing."""
    if not has_content(first) or not has_content(second):
        return second if has_content(second) else first
    assert first is not None and second is not None
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return (*_parts(first), *_parts(second))


def _parts(content: str | tuple[Part, ...]) -> tuple[Part, ...]:
    return (TextPart(content),) if isinstance(content, str) else content
