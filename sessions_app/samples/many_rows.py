"""A session of any number of rows, for measuring: the turns of a story over and over, with short answers.

Texts repeat, ids and times don't. The number of rows is exact, the system prompt included, and the session is as valid
as the story it is made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from compaction.messages import Role
from compaction.tokens import TokenCounter
from sessions_app.samples.checkout import Checkout
from sessions_app.samples.generator import generate, plain_row
from sessions_app.samples.story import Story
from sessions_app.samples.transcript import SampleRow, SampleSession, SampleTurn

# The shortest turn of any length: a request, perhaps a second one at once, and an answer.
SHORTEST_ROWS = 2
PAUSE_SECONDS = 60.0


def session_of_rows(story: Story, rows: int, checkout: Checkout, counter: TokenCounter) -> SampleSession:
    """A session with exactly `rows` rows. Raises ValueError for fewer than three."""
    if rows < 1 + SHORTEST_ROWS:
        raise ValueError(f"a session has at least {1 + SHORTEST_ROWS} rows: a system prompt, a request and an answer")
    short = replace(story, phases=tuple(replace(phase, tokens=0) for phase in story.phases))
    told = generate(short, checkout, counter)
    turns = tuple(turns_of_rows(told, rows - 1, counter))
    return replace(told, turns=turns)


def turns_of_rows(told: SampleSession, rows: int, counter: TokenCounter) -> Iterator[SampleTurn]:
    """Turns that have `rows` rows together: whole turns of the story while they fit, then short ones."""
    left, shift = rows, told.system.at
    for turn in endless(told):
        if left - len(turn.rows) not in (0, *range(SHORTEST_ROWS, left)):
            break
        left -= len(turn.rows)
        yield turn
        shift = turn.rows[-1].at
        if left == 0:
            return
    while left:
        size = 3 if left % 2 else SHORTEST_ROWS
        left -= size
        shift += PAUSE_SECONDS
        yield short_turn(size, shift, counter)


def endless(told: SampleSession) -> Iterator[SampleTurn]:
    """The story's turns for ever, each round later than the one before and with ids of its own."""
    length = told.rows[-1].at - told.system.at + PAUSE_SECONDS
    round_number = 0
    while True:
        for turn in told.turns:
            yield replace(turn, rows=tuple(later(row, round_number, round_number * length) for row in turn.rows))
        round_number += 1


def later(row: SampleRow, round_number: int, shift: float) -> SampleRow:
    """The row of another round."""
    if round_number == 0:
        return row
    message = row.message
    calls = tuple(replace(call, id=id_of_round(call.id, round_number)) for call in message.tool_calls)
    answered = id_of_round(message.tool_call_id, round_number)
    return replace(row, message=replace(message, tool_calls=calls, tool_call_id=answered), at=round(row.at + shift, 3))


def id_of_round(call_id: str | None, round_number: int) -> str | None:
    return None if call_id is None else f"{call_id}_{round_number}"


def short_turn(rows: int, at: float, counter: TokenCounter) -> SampleTurn:
    requests = [plain_row(Role.USER, text, counter) for text in islice(("Go on.", "And keep it short."), rows - 1)]
    answer = plain_row(Role.ASSISTANT, "Done, nothing else to report.", counter)
    return SampleTurn("end", tuple(replace(row, at=at + place) for place, row in enumerate([*requests, answer])))
