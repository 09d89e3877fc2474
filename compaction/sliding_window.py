"""Plain truncation, the policy others are measured against: forget the oldest turns, summarise nothing.

When the context reaches the threshold, whole turns behind the head are dropped, oldest first, until it is below again.
The head and the newest turn always stay.
"""

from __future__ import annotations

from dataclasses import replace

from compaction.edits import Edit
from compaction.messages import Row
from compaction.passes import Nothing, PassContext, Settlement, settled
from compaction.records import Outcome, PassKind
from compaction.state import CompactionState
from compaction.transcript import Transcript
from compaction.turns import split_turns
from compaction.zones import find_zones

BELOW_THRESHOLD = "below_threshold"
WINDOW_UNKNOWN = "window_unknown"
ONLY_PROTECTED_TURNS = "only_protected_turns"


def truncate(transcript: Transcript, state: CompactionState, context: PassContext) -> Nothing | Settlement:
    """Drop what no longer fits, or say why nothing is dropped."""
    if context.threshold_tokens is None:
        return Nothing(WINDOW_UNKNOWN, state)
    tokens_before = context.fixed_overhead_tokens + transcript.live_tokens
    excess_tokens = tokens_before - context.threshold_tokens + 1
    if excess_tokens <= 0:
        return Nothing(BELOW_THRESHOLD, state)
    zones = find_zones(transcript, context.policy.protect_first_n, 1, context.head_limit_tokens, context.tail)
    dropped = _oldest_turns(tuple(transcript.forward(zones.middle_start)), excess_tokens)
    if not dropped:
        return Nothing(ONLY_PROTECTED_TURNS, state, zones)
    record = replace(
        context.blank_record(state, PassKind.PRUNE, Outcome.TRUNCATED, tokens_before, transcript.live_rows),
        reason="sliding_window",
        zones=zones,
    )
    edit = Edit(archived=tuple(row.id for row in dropped))
    prefix_tokens = context.fixed_overhead_tokens + zones.head_tokens
    return settled(record.with_edit(edit, sum(row.tokens for row in dropped), prefix_tokens), state)


def _oldest_turns(rows: tuple[Row, ...], excess_tokens: int) -> list[Row]:
    dropped: list[Row] = []
    for turn in list(split_turns(rows))[:-1]:
        if excess_tokens <= 0:
            break
        dropped.extend(turn)
        excess_tokens -= sum(row.tokens for row in turn)
    return dropped
