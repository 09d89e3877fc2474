"""A finished sample session: messages with their cost and their time. Values only; file forms are made from them."""

from __future__ import annotations

from dataclasses import dataclass

from compaction.messages import Message, Role
from sessions_app.samples.story import Story


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A row of a sample. `seconds`: how long it took to come; `at`: epoch seconds, 0 until the clock has run."""

    message: Message
    tokens: int
    seconds: float = 0.0
    at: float = 0.0

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped, in the providers' words; None for rows that no model wrote."""
        if self.message.role is not Role.ASSISTANT:
            return None
        return "tool_calls" if self.message.tool_calls else "stop"


@dataclass(frozen=True, slots=True)
class SampleTurn:
    """A request and its answer, row by row. `phase` names the part of the story it belongs to."""

    phase: str
    rows: tuple[SampleRow, ...]

    @property
    def tokens(self) -> int:
        """What the turn's rows cost."""
        return sum(row.tokens for row in self.rows)


@dataclass(frozen=True, slots=True)
class SampleSession:
    """A session ready to be written out. The system prompt is a row of its own, the first."""

    story: Story
    system: SampleRow
    turns: tuple[SampleTurn, ...]

    @property
    def rows(self) -> tuple[SampleRow, ...]:
        """All rows in order, the system prompt first."""
        return (self.system, *(row for turn in self.turns for row in turn.rows))

    @property
    def tokens(self) -> int:
        """What all rows cost, the system prompt included."""
        return sum(row.tokens for row in self.rows)
