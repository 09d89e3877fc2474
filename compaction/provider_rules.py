"""What providers insist on, one rule per function, for checking any list that is bound for a model.

The rules are stated here and nowhere else: the model view repairs towards them, tests hold it against them, and pages
show what is wrong with a list that came from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compaction.messages import Message, Role
from compaction.model_view import Profile, can_merge, is_system
from compaction.tool_pairs import open_round, pair_rounds


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that does not hold, at the message with this index (None: for the list as a whole)."""

    rule: str
    index: int | None
    detail: str


def violations(messages: Sequence[Message], profile: Profile = Profile.STRICT) -> tuple[Violation, ...]:
    """All violations of `profile`; none means that a provider of this kind accepts the list."""
    found = [*_user_speaks_first(messages), *_no_empty(messages), *_calls_are_answered(messages)]
    if profile is Profile.STRICT:
        found.extend(_roles_alternate(messages))
    return tuple(found)


def _user_speaks_first(messages: Sequence[Message]) -> Iterator[Violation]:
    first = next((message for message in messages if not is_system(message)), None)
    if first is None or first.role is not Role.USER:
        yield Violation("user_speaks_first", None, "the first message behind the system prompt is not a user's")


def _no_empty(messages: Sequence[Message]) -> Iterator[Violation]:
    for index, message in enumerate(messages):
        if not (message.has_content or message.tool_calls or message.role is Role.TOOL):
            yield Violation("no_empty", index, f"empty {message.role} message")


def _roles_alternate(messages: Sequence[Message]) -> Iterator[Violation]:
    for index in range(1, len(messages)):
        if can_merge(messages[index - 1], messages[index]):
            yield Violation("roles_alternate", index, f"two {messages[index].role} messages in a row")


def _calls_are_answered(messages: Sequence[Message]) -> Iterator[Violation]:
    """Every call directly followed by all its results, and no other results; the last round may still be open."""
    rounds = pair_rounds(messages)
    running = open_round(messages, rounds)
    placed = set()
    for index, found in rounds.items():
        placed.update(found.results)
        if found.waiting and found is not running:
            yield Violation("calls_answered", index, f"{len(found.waiting)} calls without a result")
        if found.results != list(range(index + 1, index + 1 + len(found.results))):
            yield Violation("results_follow", index, "results do not directly follow their call")
    for index, message in enumerate(messages):
        if message.role is Role.TOOL and index not in placed:
            yield Violation("results_have_call", index, "a result without a call")
