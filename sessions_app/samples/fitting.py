"""Making a turn as long as its share of the session.

Must not choose words: drafts come in, rows go out. Every elastic piece starts at its least; what is left of the turn's
share is given out piece by piece, and whatever one can't use the next one may. Lines are whole, so a turn misses its
share by a line at most, and the next turn's share makes up for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compaction.messages import Message, Role, ToolCall
from compaction.tokens import TokenCounter, row_tokens
from sessions_app.samples.drafts import DraftCall, Piece
from sessions_app.samples.transcript import SampleRow

# How long a model takes to begin, and how fast it then writes (seconds, tokens a second).
FIRST_TOKEN_SECONDS = 2.6
WRITING_SPEED = 48.0


@dataclass(frozen=True, slots=True)
class DraftStep:
    """An assistant message to be, with its calls and their ids."""

    prose: str
    reasoning: str | None
    calls: tuple[DraftCall, ...]
    call_ids: tuple[str, ...]


Counts = list[list[int]]


def fit_steps(steps: Sequence[DraftStep], target_tokens: int, counter: TokenCounter) -> tuple[SampleRow, ...]:
    """Rows of the steps, their answers so long that all rows together cost `target_tokens`, or the least they can."""
    calls, counts = calls_of(steps), least_counts(steps)
    spare = target_tokens - cost(steps, counts, counter)
    for _ in range(3):
        spare -= stretch(calls, counts, spare, counter)
    return tuple(rows_of(steps, counts, counter))


def bounds_tokens(steps: Sequence[DraftStep], counter: TokenCounter) -> tuple[int, int]:
    """What the steps cost with the shortest answers, and with the longest."""
    longest = [[len(piece.candidates) for piece in call.pieces] for call in calls_of(steps)]
    return cost(steps, least_counts(steps), counter), cost(steps, longest, counter)


def calls_of(steps: Sequence[DraftStep]) -> list[DraftCall]:
    return [call for step in steps for call in step.calls]


def least_counts(steps: Sequence[DraftStep]) -> Counts:
    return [[min(piece.least, len(piece.candidates)) for piece in call.pieces] for call in calls_of(steps)]


def cost(steps: Sequence[DraftStep], counts: Counts, counter: TokenCounter) -> int:
    return sum(row.tokens for row in rows_of(steps, counts, counter))


def stretch(calls: Sequence[DraftCall], counts: Counts, spare: int, counter: TokenCounter) -> int:
    """Lengthen elastic pieces in place by up to `spare` tokens in equal shares; returns the tokens used."""
    room = [
        (call_index, piece_index, piece)
        for call_index, call in enumerate(calls)
        for piece_index, piece in enumerate(call.pieces)
        if piece.is_elastic and counts[call_index][piece_index] < len(piece.candidates)
    ]
    used = 0
    for place, (call_index, piece_index, piece) in enumerate(room):
        share = (spare - used) // (len(room) - place)
        lines, tokens = lines_within(piece, counts[call_index][piece_index], share, counter)
        counts[call_index][piece_index] += lines
        used += tokens
    return used


def lines_within(piece: Piece, start: int, share_tokens: int, counter: TokenCounter) -> tuple[int, int]:
    """How many lines after the first `start` fit into the share, and what they cost."""
    candidates, used = piece.candidates, 0
    for lines, line in enumerate(candidates[start:]):
        cost = counter.count(line + "\n")
        if used + cost > share_tokens:
            return lines, used
        used += cost
    return len(candidates) - start, used


def rows_of(steps: Sequence[DraftStep], counts: Counts, counter: TokenCounter) -> Iterator[SampleRow]:
    """The rows of all steps with answers of the given lengths."""
    remaining = iter(counts)
    for step in steps:
        lengths = [next(remaining) for _ in step.calls]
        yield assistant_row(step, lengths, counter)
        for call, call_id, length in zip(step.calls, step.call_ids, lengths, strict=True):
            message = Message(Role.TOOL, call.answer(length), tool_call_id=call_id, name=call.name)
            yield SampleRow(message, row_tokens(message, counter), call.seconds)


def assistant_row(step: DraftStep, lengths: Sequence[Sequence[int]], counter: TokenCounter) -> SampleRow:
    calls = tuple(
        ToolCall(call_id, call.name, call.arguments(elastic_lines(call, length)))
        for call, call_id, length in zip(step.calls, step.call_ids, lengths, strict=True)
    )
    message = Message(Role.ASSISTANT, step.prose or None, calls, reasoning=step.reasoning)
    tokens = row_tokens(message, counter)
    thinking = len(step.reasoning or "") / 4
    return SampleRow(message, tokens, FIRST_TOKEN_SECONDS + (tokens + thinking) / WRITING_SPEED)


def elastic_lines(call: DraftCall, length: Sequence[int]) -> int:
    return sum(count for piece, count in zip(call.pieces, length, strict=True) if piece.is_elastic)
