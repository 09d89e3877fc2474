"""Pruning: old tool results become one line each, without a model.

A pruned result is a `prune_stub` row at the position of its original and with its call id; the original is archived and
keeps the full text. Results that occur again further on point to the newest of them, pictures are kept in the newest
few results, and what the agent has not read yet stays. Calls and their arguments are never touched. It acts only
before the tail, on results that get smaller by it (ENGINE 8.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from compaction.batch_window import cut_tail
from compaction.edits import Edit, NewRow
from compaction.messages import ImagePart, Message, Part, Role, Row, RowKind, TextPart, ToolCall
from compaction.passes import Nothing, PassContext, Settlement, settled
from compaction.prune_lines import UNKNOWN_TOOL, prune_line
from compaction.records import Outcome, PassKind
from compaction.state import CompactionState
from compaction.tokens import TokenCounter, row_tokens
from compaction.tool_pairs import pair_rounds
from compaction.tool_results import Arguments
from compaction.transcript import Transcript
from compaction.wording import worded
from compaction.zones import Zones

# Shorter results cost no more than the line that would stand for them.
MIN_RESULT_CHARS: Final = 200
KEPT_PICTURES: Final = 3
DUPLICATE: Final = "[the same result was returned again by a later call, see there]"
# The words other programs write as well, so that a transcript reads the same whoever pruned it.
PICTURE_REMOVED: Final = "[screenshot removed to save context]"
# Instructions that were loaded a moment ago are what the agent is going by.
_FRESH_ROWS: Final = 10
_SKILL_TOOLS: Final = frozenset({"skill_view", "Skill"})
_LINE_CHARS: Final = 400


class PruneReason(StrEnum):
    """Why nothing is pruned."""

    PRUNE_OFF = "prune_off"
    BELOW_TRIGGER = "below_prune_trigger"
    WAITS_FOR_REGROWTH = "waits_for_regrowth"
    NOTHING_TO_PRUNE = "nothing_to_prune"
    BELOW_MIN_RECLAIM = "below_min_reclaim"


@dataclass(frozen=True, slots=True)
class Pruned:
    """A tool result and what stands for it."""

    original: Row
    stub: NewRow

    @property
    def freed_tokens(self) -> int:
        """What the context gets back; always more than 0."""
        return self.original.tokens - self.stub.tokens


@dataclass(frozen=True, slots=True)
class Shortened:
    """Messages with short tool results: how many were shortened, and what those cost before and after."""

    messages: tuple[Message, ...]
    results: int
    tokens_before: int
    tokens_after: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done, for people; empty when nothing was."""
        if not self.results:
            return ()
        figures = self.results, self.tokens_before, self.tokens_after
        return (worded("tool results shortened for the question: {} ({:,} to {:,} tokens)", *figures),)


def plan_prune(transcript: Transcript, state: CompactionState, context: PassContext) -> Nothing | Settlement:
    """A proactive prune, settled, or why none is made. Runs from `proactive_prune_tokens` live tokens on, if it frees
    `proactive_prune_min_reclaim_tokens`, and again once the context has regrown by as much."""
    policy = context.policy
    if not policy.runs_prune:
        return Nothing(PruneReason.PRUNE_OFF, state)
    if transcript.live_tokens < policy.proactive_prune_tokens:
        return Nothing(PruneReason.BELOW_TRIGGER, state)
    if state.prune_rearm_tokens is not None and transcript.live_tokens < state.prune_rearm_tokens:
        return Nothing(PruneReason.WAITS_FOR_REGROWTH, state)
    zones = prune_zones(transcript, context)
    rows = tuple(transcript.forward())
    pruned = prune_rows(rows, zones, context.counter, policy.proactive_prune_min_result_chars)
    if not pruned:
        return Nothing(PruneReason.NOTHING_TO_PRUNE, state, zones)
    if _freed_tokens(pruned) < policy.proactive_prune_min_reclaim_tokens:
        return Nothing(PruneReason.BELOW_MIN_RECLAIM, state, zones)
    return _settle(transcript, rows, state, context, zones, pruned)


def prune_zones(transcript: Transcript, context: PassContext) -> Zones:
    """The zones a prune goes by. A newest turn that is larger than the tail is pruned up to the tail inside it."""
    zones = context.zones_of(transcript)
    return cut_tail(transcript, zones)


def prune_rows(
    rows: Sequence[Row], zones: Zones, counter: TokenCounter, min_chars: int = MIN_RESULT_CHARS
) -> tuple[Pruned, ...]:
    """What is pruned of all live `rows`, in order: results in the middle of `zones` that are longer than `min_chars`,
    that occur again later, or that hold old pictures. Head and tail are only looked at."""
    pruner = _Pruner(rows, zones, min_chars)
    places = (place for place in range(len(rows)) if pruner.may_prune(place))
    found = (_pruned(rows[place], pruner.shortened(place), counter) for place in places)
    return tuple(one for one in found if one is not None and one.freed_tokens > 0)


def shorten_results(messages: Sequence[Message], counter: TokenCounter) -> Shortened:
    """`messages` with their tool results shortened as rows would be, for a text that a summarizer reads."""
    rows = tuple(Row(number, number, message, 0) for number, message in enumerate(messages))
    pruner = _Pruner(rows, None, MIN_RESULT_CHARS)
    shown = list(messages)
    before = after = results = 0
    for place, message in enumerate(messages):
        short = pruner.shortened(place) if pruner.may_prune(place) else None
        if short is not None:
            shown[place] = short
            results += 1
            before += row_tokens(message, counter)
            after += row_tokens(short, counter)
    return Shortened(tuple(shown), results, before, after)


def _freed_tokens(pruned: Sequence[Pruned]) -> int:
    return sum(one.freed_tokens for one in pruned)


def _settle(
    transcript: Transcript,
    rows: Sequence[Row],
    state: CompactionState,
    context: PassContext,
    zones: Zones,
    pruned: Sequence[Pruned],
) -> Settlement:
    live_tokens, freed_tokens = sum(row.tokens for row in rows), _freed_tokens(pruned)
    rearm_tokens = live_tokens - freed_tokens + context.policy.proactive_prune_min_reclaim_tokens
    state = replace(state, prune_rearm_tokens=rearm_tokens)
    first = pruned[0].original.key
    prefix_tokens = context.fixed_overhead_tokens + sum(row.tokens for row in rows if row.key < first)
    tokens_before = context.fixed_overhead_tokens + live_tokens
    record = replace(
        context.blank_record(state, PassKind.PRUNE, Outcome.PRUNED, tokens_before, len(rows)),
        notes=(worded("tool results shortened: {}", len(pruned)),),
        zones=zones,
    )
    edit = Edit(archived=tuple(one.original.id for one in pruned), inserted=tuple(one.stub for one in pruned))
    removed_tokens = sum(one.original.tokens for one in pruned)
    return settled(record.with_edit(edit, removed_tokens, prefix_tokens), state)


def _pruned(row: Row, message: Message | None, counter: TokenCounter) -> Pruned | None:
    if message is None:
        return None
    tokens = row_tokens(message, counter)
    return Pruned(row, NewRow(RowKind.PRUNE_STUB, row.position, message, tokens, replaces=row.id))


class _Pruner:
    """Looks at each row once and answers what stands for it. `zones` None: a summarizer reads the rows, so all of
    them may be shortened."""

    def __init__(self, rows: Sequence[Row], zones: Zones | None, min_chars: int) -> None:
        self._rows = rows
        self._zones = zones
        self._min_chars = min_chars
        self._calls = _calls_of_results(rows)
        self._repeated = _repeated_places(rows)
        self._kept = frozenset(_pictured_places(rows)[-KEPT_PICTURES:])
        if zones is not None:
            self._kept |= _unread_places(rows) | self._skills_in_use(zones)

    def may_prune(self, place: int) -> bool:
        """Whether the row is a tool result that pruning may touch at all."""
        row = self._rows[place]
        if row.role is not Role.TOOL or row.kind is not RowKind.MESSAGE or place in self._kept:
            return False
        return self._zones is None or self._zones.holds_in_middle(row.key)

    def shortened(self, place: int) -> Message | None:
        """The message that stands for the row; None when it stays as it is."""
        message = self._rows[place].message
        if place in self._repeated:
            return replace(message, content=DUPLICATE)
        text = message.text
        if len(text) > self._min_chars and not _is_line(text):
            line = self._line(place, text)
            return replace(message, content=line) if len(line) < len(text) else None
        return _without_pictures(message)

    def _line(self, place: int, text: str) -> str:
        call = self._calls.get(place)
        if call is None:
            return prune_line(self._rows[place].message.name or UNKNOWN_TOOL, "", text)
        return prune_line(call.name, call.arguments, text)

    def _skills_in_use(self, zones: Zones) -> frozenset[int]:
        """Results that hold instructions the agent goes by: loaded a moment ago, or named by a user in the tail."""
        skills = {place: _skill_name(call) for place, call in self._calls.items() if call.name in _SKILL_TOOLS}
        if not skills:
            return frozenset()
        asked = "\n".join(row.message.text for row in self._rows if row.is_user and _is_in_tail(row, zones)).lower()
        fresh = len(self._rows) - _FRESH_ROWS
        return frozenset(place for place, name in skills.items() if place >= fresh or (name and name in asked))


def _calls_of_results(rows: Sequence[Row]) -> dict[int, ToolCall]:
    """By the place of each result that answers a call: that call."""
    rounds = pair_rounds([row.message for row in rows])
    return {place: call for found in rounds.values() for place, call in zip(found.results, found.answered, strict=True)}


def _unread_places(rows: Sequence[Row]) -> frozenset[int]:
    """Results at the end that the agent has not answered yet."""
    newest = next((place for place in range(len(rows) - 1, -1, -1) if rows[place].role is Role.ASSISTANT), -1)
    return frozenset(range(newest + 1, len(rows)))


def _repeated_places(rows: Sequence[Row]) -> frozenset[int]:
    """Results whose very text a later result holds again."""
    seen: set[str] = set()
    repeated = []
    for place in range(len(rows) - 1, -1, -1):
        row, text = rows[place], rows[place].message.content
        if row.role is not Role.TOOL or not isinstance(text, str) or len(text) < MIN_RESULT_CHARS:
            continue
        if text in seen and row.kind is RowKind.MESSAGE:
            repeated.append(place)
        seen.add(text)
    return frozenset(repeated)


def _pictured_places(rows: Sequence[Row]) -> list[int]:
    return [place for place, row in enumerate(rows) if row.role is Role.TOOL and _has_picture(row.message)]


def _has_picture(message: Message) -> bool:
    return isinstance(message.content, tuple) and any(isinstance(part, ImagePart) for part in message.content)


def _without_pictures(message: Message) -> Message | None:
    if not isinstance(message.content, tuple) or not _has_picture(message):
        return None
    parts: tuple[Part, ...] = tuple(
        TextPart(PICTURE_REMOVED) if isinstance(part, ImagePart) else part for part in message.content
    )
    return replace(message, content=parts)


def _is_in_tail(row: Row, zones: Zones) -> bool:
    return zones.tail_start is not None and row.key >= zones.tail_start


def _skill_name(call: ToolCall) -> str:
    return Arguments.read(call.arguments).filled("name", "skill", "command").lower()


def _is_line(text: str) -> bool:
    """Whether the result is such a line already: an imported session may have been pruned elsewhere."""
    return len(text) < _LINE_CHARS and text.startswith("[") and " chars)" in text
