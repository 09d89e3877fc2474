"""What an agent does with a recorded session, one step after the other: append what just came, finish the turn.

Pure. Turns are cut by the tracker that also numbers them when rows are stored, so both sides agree on them. Rows are
appended as they come into being: a request, each answer of the model, the results of its calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from compaction.messages import Role
from sessions_app.feeding.recording import Recording
from sessions_app.services import NewMessage
from sessions_app.turn_tracking import TurnTracker, is_answer

# Rows that one append can take over the API.
MOST_ROWS: Final = 100


@dataclass(frozen=True, slots=True)
class AppendRows:
    """Append `rows`, now. pause_seconds: how long after the rows before them they came; None when that is not known.

    turn: from 1; rows before the first request go with the first turn.
    """

    turn: int
    rows: tuple[NewMessage, ...]
    pause_seconds: float | None


@dataclass(frozen=True, slots=True)
class FinishTurn:
    """Say that the turn's reply was sent, or that it was broken off."""

    turn: int
    interrupted: bool


Step = AppendRows | FinishTurn


def steps_of(recording: Recording) -> Iterator[Step]:
    """The steps of a recording, in order. A last turn that has no request is never finished."""
    before: NewMessage | None = None
    for turn, rows in rows_by_turn(recording.rows):
        for together in rows_that_come_together(rows):
            yield AppendRows(turn, tuple(replace(row, at=None) for row in together), pause_between(before, together[0]))
            before = together[-1]
        if any(row.message.role is Role.USER and row.by_person for row in rows):
            was_stopped = rows[-1].client_id in recording.interrupted_after
            yield FinishTurn(turn, was_stopped or not is_answer(rows[-1].message))


def rows_by_turn(rows: Sequence[NewMessage]) -> Iterator[tuple[int, tuple[NewMessage, ...]]]:
    """The rows of each turn with its number."""
    tracker = TurnTracker(0, False)
    numbered = [(tracker.place(row.message, row.by_person, place, None) or 1, row) for place, row in enumerate(rows)]
    for number, group in groupby(numbered, key=lambda pair: pair[0]):
        yield number, tuple(row for _, row in group)


def rows_that_come_together(rows: Sequence[NewMessage]) -> Iterator[tuple[NewMessage, ...]]:
    """Rows as an agent gets them: what is put to the model, each of its messages, the results of a message's calls."""
    together: list[NewMessage] = []
    for row in rows:
        if together and (len(together) == MOST_ROWS or not belongs_with(together[-1], row)):
            yield tuple(together)
            together = []
        together.append(row)
    if together:
        yield tuple(together)


def belongs_with(before: NewMessage, row: NewMessage) -> bool:
    """Whether a row comes at once with the one before it."""
    roles = {before.message.role, row.message.role}
    return Role.ASSISTANT not in roles and (roles == {Role.TOOL} or Role.TOOL not in roles)


def pause_between(before: NewMessage | None, row: NewMessage) -> float | None:
    """Seconds from one row to the next as recorded; 0 before the first row and where a clock went back."""
    if before is None:
        return 0.0
    if before.at is None or row.at is None:
        return None
    return max((row.at - before.at).total_seconds(), 0.0)
