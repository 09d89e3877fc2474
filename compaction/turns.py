"""Turns: a person's request and all that follows until the next one (ENGINE 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from compaction.messages import Role, Row


def split_turns(rows: Iterable[Row]) -> Iterator[tuple[Row, ...]]:
    """`rows` as turns, in order. Rows before the first request belong to the first turn; a person's neighbouring rows
    are one request."""
    turn: list[Row] = []
    for row in rows:
        if row.opens_turn and any(earlier.opens_turn for earlier in turn) and not turn[-1].opens_turn:
            yield tuple(turn)
            turn = []
        turn.append(row)
    if turn:
        yield tuple(turn)


def is_finished(turn: Sequence[Row]) -> bool:
    """Whether the agent ended the turn with a text of its own and asks for nothing more."""
    last = turn[-1]
    return last.role is Role.ASSISTANT and not last.message.tool_calls and last.message.has_content
