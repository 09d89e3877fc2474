"""Calls and their results: which belong together, and what to do with those that don't.

Providers refuse a transcript in which a call is not directly followed by its results. A result answers the pending
call with its id (trimmed; a missing id matches nothing) as long as no plain assistant text has closed the round.
Pairing only looks back, so rows that are appended later never change how finished turns were paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from compaction.messages import Message, Role, ToolCall


@dataclass(slots=True)
class Round:
    """An assistant message with calls: its index, and the indices of the results that answer it, in order."""

    index: int
    waiting: list[ToolCall]
    answered: list[ToolCall] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def answer(self, call_id: str, result_index: int) -> bool:
        """Take the result at `result_index` if a call with `call_id` waits here."""
        for call in self.waiting:
            if call_id in call_ids(call):
                self.waiting.remove(call)
                self.answered.append(call)
                self.results.append(result_index)
                return True
        return False


def call_ids(call: ToolCall) -> frozenset[str]:
    """The ids by which a result may name `call`, trimmed; empty when it has none."""
    return frozenset(name.strip() for name in (call.id or "", *call.aliases) if name.strip())


def result_id(message: Message) -> str:
    """The id of the call a result says it answers, trimmed; empty when it names none."""
    return (message.tool_call_id or "").strip()


def closes_round(message: Message) -> bool:
    """Whether calls before this message can't be answered behind it any more: the agent has gone on without them."""
    return message.role is Role.ASSISTANT and not message.tool_calls and message.has_content


def pair_rounds(messages: Sequence[Message]) -> dict[int, Round]:
    """Every message with calls, by index, with the results found for it."""
    rounds: dict[int, Round] = {}
    pending: list[Round] = []
    for index, message in enumerate(messages):
        if message.tool_calls:
            rounds[index] = Round(index, list(message.tool_calls))
            pending.append(rounds[index])
        elif closes_round(message):
            pending.clear()
        elif message.role is Role.TOOL:
            call_id = result_id(message)
            any(call_id and waiting.answer(call_id, index) for waiting in reversed(pending))
    return rounds


def open_round(messages: Sequence[Message], rounds: dict[int, Round]) -> Round | None:
    """The round the agent is still in: the last message that is no result, if some of its calls wait."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role is not Role.TOOL:
            found = rounds.get(index)
            return found if found is not None and found.waiting else None
    return None
