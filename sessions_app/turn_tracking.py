"""Turns, derived from rows as they arrive: a turn opens at a person's row that does not follow another one.

Must not query. Used by appends and imports alike, so both number turns the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from compaction.messages import Message, Role


@dataclass(slots=True)
class TurnSpan:
    """One turn as far as it is known. is_finished: its last row is an answer in words."""

    number: int
    first_position: int
    last_position: int
    started_at: datetime | None
    last_at: datetime | None
    ended_at: datetime | None = None
    is_finished: bool = False
    interrupted: bool = False


class TurnTracker:
    """Numbers rows by turn. `number` is the last turn known, 0 before the first; rows before it have no turn."""

    def __init__(self, number: int, follows_person: bool) -> None:
        self.number = number
        self._follows_person = follows_person
        self.touched: dict[int, TurnSpan] = {}

    def place(self, message: Message, by_person: bool, position: int, at: datetime | None) -> int | None:
        """The turn of the row at `position`; None before the first person's row."""
        opens = message.role is Role.USER and by_person
        if opens and not self._follows_person:
            self.number += 1
        self._follows_person = opens
        if self.number == 0:
            return None
        span = self.touched.setdefault(self.number, TurnSpan(self.number, position, position, at, at))
        span.last_position = position
        span.last_at = at or span.last_at
        span.is_finished = is_answer(message)
        return self.number

    def end(self, interrupted: bool, at: datetime | None) -> None:
        """Note that the source says the turn ended here. Without a turn that rows were added to, nothing is noted."""
        span = self.touched.get(self.number)
        if span is not None:
            span.ended_at, span.interrupted = at, interrupted
            span.is_finished = span.is_finished and not interrupted

    def take(self) -> tuple[TurnSpan, ...]:
        """The turns touched since the last call, in order. The last one goes on and is told again."""
        spans = tuple(self.touched.values())
        self.touched = {span.number: span for span in spans[-1:]}
        return spans


def is_answer(message: Message) -> bool:
    """Whether a turn that ends with this row is finished: an assistant's words without open calls."""
    return message.role is Role.ASSISTANT and message.has_content and not message.tool_calls
