"""A replay as lines for people and programs. The JSON keys are an interface: checks and scripts read them."""

from __future__ import annotations

import json
from typing import Any

from compaction.passes import PassContext
from compaction.replay import ReplayResult, Step
from compaction.wire import message_to_openai


def step_json(step: Step) -> str:
    """One decision as one line of JSON. Row numbers count from 0, turns from 1; unknown is null."""
    record = step.record
    return _line(
        {
            "type": "step",
            "turn": step.turn,
            "kind": record.kind,
            "outcome": record.outcome,
            "reason": record.reason,
            "rows_archived": [row.position for row in step.applied.archived],
            "tokens_before": record.tokens_before,
            "tokens_after": record.tokens_after,
            "occupancy_pct": record.occupancy_pct,
            "threshold_tokens": record.threshold_tokens,
            "cursor": None if step.cursor is None else step.cursor.position,
            "summary": record.summary_after,
        }
    )


def result_json(result: ReplayResult) -> str:
    """The sum of a replay as one line of JSON, the final model view as provider messages included."""
    return _line(
        {
            "type": "result",
            "policy": result.policy,
            "turns": result.turns,
            "rows": result.rows,
            "live_rows": result.live_rows,
            "archived_rows": result.archived_rows,
            "summary_rows": result.summary_rows,
            "stub_rows": result.stub_rows,
            "outcomes": dict(result.outcomes),
            "batch_passes": result.batch_passes,
            "summarizer_calls": result.summarizer_calls,
            "peak_tokens": result.peak_tokens,
            "last_tokens": result.last_tokens,
            "last_occupancy_pct": result.last_occupancy_pct,
            "model_view": [message_to_openai(message) for message in result.model_view],
        }
    )


def _line(values: dict[str, Any]) -> str:
    # ASCII, because a lone surrogate in a transcript can't be written as UTF-8.
    return json.dumps(values, ensure_ascii=True, separators=(",", ":"))


def threshold_text(context: PassContext) -> str:
    """What the occupancies of a replay are shares of, for people; printed once, before the steps."""
    tokens = context.threshold_tokens
    return "threshold unknown" if tokens is None else f"threshold {tokens:,} tokens"


def step_text(step: Step) -> str:
    """One decision as one line for people; a dash stands for what is unknown."""
    record = step.record
    occupancy = "–" if record.occupancy_pct is None else f"{record.occupancy_pct:.1f} %"
    what = record.outcome if not record.reason else f"{record.outcome} ({record.reason})"
    size = f"{record.tokens_before:,}"
    if record.is_committed:
        size += f" → {record.tokens_after:,}"
    return f"turn {step.turn:>4}  {record.kind:<8} {what:<44} {size:>22} tokens  {occupancy:>8}"


def result_text(result: ReplayResult) -> str:
    """The sum of a replay, for people."""
    share = result.last_occupancy_pct
    occupancy = "occupancy unknown" if share is None else f"{share:.1f} % of the threshold"
    outcomes = ", ".join(f"{name} {count}" for name, count in result.outcomes) or "none"
    return (
        f"policy {result.policy}: {result.turns} turns, {result.rows} rows\n"
        f"live {result.live_rows}, archived {result.archived_rows}, "
        f"summaries {result.summary_rows}, stubs {result.stub_rows}\n"
        f"outcomes: {outcomes}\n"
        f"summarizer calls {result.summarizer_calls}, batch passes {result.batch_passes}\n"
        f"peak {result.peak_tokens:,} tokens, at the end {result.last_tokens:,} tokens, {occupancy}"
    )
