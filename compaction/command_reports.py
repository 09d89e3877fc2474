"""What `python -m compaction` prints: plain lines for people, JSON where programs ask for it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from compaction.budgets import tail_budget
from compaction.messages import Row
from compaction.model_view import Profile, model_view
from compaction.passes import PassContext
from compaction.policy import AUXILIARY_SETTINGS, COMPRESSION_SETTINGS
from compaction.policy_reading import AUXILIARY_COMPRESSION, COMPRESSION, PolicyReading
from compaction.prune import prune_rows, prune_zones
from compaction.sentences import clip
from compaction.settings import shown
from compaction.threshold import Window, effective_threshold
from compaction.transcript import ListTranscript
from compaction.wire import message_to_openai

_TEXT_CHARS = 100


def view_lines(rows: Sequence[Row], profile: Profile) -> Iterator[str]:
    """The model view as provider messages, one JSON object a line."""
    for message in model_view(rows, profile).messages:
        yield json.dumps(message_to_openai(message))


def view_report(rows: Sequence[Row], profile: Profile) -> Iterator[str]:
    """The model view for people: one line a message, then what was repaired."""
    view = model_view(rows, profile)
    for entry in view.entries:
        calls = ", ".join(call.name for call in entry.message.tool_calls)
        text = clip(" ".join(entry.message.text.split()), _TEXT_CHARS)
        places = ",".join(map(str, entry.row_ids)) or "added"
        yield f"{places:>12}  {entry.message.role:<9}  {text}{f'  [calls {calls}]' if calls else ''}"
    repairs = Counter(repair.kind.value for repair in view.repairs)
    yield f"{len(view.entries)} messages of {len(rows)} rows; " + (
        "repaired: " + ", ".join(f"{kind} {count}" for kind, count in sorted(repairs.items()))
        if repairs
        else "nothing had to be repaired"
    )


def prune_report(rows: Sequence[Row], context: PassContext) -> Iterator[str]:
    """The tool results that a prune would shorten, with what each gives back."""
    pruned = prune_rows(rows, prune_zones(ListTranscript(rows), context), context.counter)
    for one in pruned:
        line = clip(one.stub.message.text, _TEXT_CHARS)
        yield f"row {one.original.position:>6}  {one.freed_tokens:>8,} tokens  {line}"
    freed = sum(one.freed_tokens for one in pruned)
    yield f"{len(pruned)} results in the middle would be shortened, {freed:,} tokens freed"


def token_report(rows: Sequence[Row], overhead_tokens: int, counter_name: str) -> Iterator[str]:
    """Costs by role and their sum."""
    costs: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for row in rows:
        costs[row.role.value] += row.tokens
        numbers[row.role.value] += 1
    for role, tokens in costs.most_common():
        yield f"{role:<10} {numbers[role]:>8,} rows  {tokens:>12,} tokens"
    reasoning = [row.reasoning_tokens for row in rows if row.reasoning_tokens is not None]
    yield f"{'sum':<10} {len(rows):>8,} rows  {sum(costs.values()):>12,} tokens, counted by {counter_name}"
    yield f"fixed overhead {overhead_tokens:,} tokens; reasoning " + (
        f"{sum(reasoning):,} tokens in {len(reasoning)} rows, not in the sum" if reasoning else "in no row"
    )


def policy_report(reading: PolicyReading, window: Window, model: str) -> Iterator[str]:
    """Every setting with its value and where that comes from, then what follows from it."""
    for block, settings, owner in (
        (COMPRESSION, COMPRESSION_SETTINGS, reading.policy),
        (AUXILIARY_COMPRESSION, AUXILIARY_SETTINGS, reading.policy.auxiliary),
    ):
        for name, setting in settings:
            key = f"{block}.{setting.key}"
            yield f"{key} = {shown(getattr(owner, name))}  ({reading.source_of(key)})"
    threshold = effective_threshold(reading.policy, window, model=model)
    if threshold.tokens is None:
        yield "threshold unknown: the window is not known, give it with --window N"
    for step in threshold.steps:
        yield f"threshold: {step.what}: {step.value:,} tokens"
    tail = tail_budget(reading.policy, threshold, window)
    yield f"tail: {tail.budget_tokens:,} tokens, up to {tail.ceiling_tokens:,} to complete a turn"
    for problem in reading.problems:
        yield f"{problem.severity}: {problem.key}: {problem.message}"
