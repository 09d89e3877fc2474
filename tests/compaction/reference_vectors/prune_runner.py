"""Runner for pruning: one-line summaries, prunes under a given tail, and proactive prunes.

The recorded prune knows no head, so ours runs without one. Its tail is given as a number of rows, or as a budget; under
a budget ours is made of whole turns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from compaction.batch_window import cut_tail
from compaction.budgets import TailBudget
from compaction.edits import Edit, apply_edit
from compaction.live_rows import LiveRows
from compaction.messages import Row, TextPart
from compaction.pass_context import make_context
from compaction.passes import Settlement
from compaction.prune import MIN_RESULT_CHARS, Pruned, plan_prune, prune_rows
from compaction.prune_lines import ANSWER_LINE_CHARS, prune_line
from compaction.state import CompactionState
from compaction.tokens import RoughCounter
from compaction.transcript import ListTranscript
from compaction.zones import Zones, find_zones
from tests.compaction.reference_vectors.cases import Case
from tests.compaction.reference_vectors.settings_runners import policy_of, window_of
from tests.compaction.reference_vectors.transcript_runners import rows_of

_ELIDED = re.compile(r"\{\{ELIDED (\d+)/(\d+)\}\}")
_OUR_MARK = re.compile(r"\[\.\.\. (\d+) of (\d+) characters left out \.\.\.\]")


def run_summarize(case: Case) -> dict[str, Any]:
    """The line of one result. Where a long answer was cut, our mark has another length than the recorded one."""
    line = prune_line(case.input["tool"], case.input["arguments"], case.input["result"])
    return {"line": _as_recorded(line, case.expected["line"])}


def _as_recorded(line: str, recorded: str) -> str:
    theirs, ours = _ELIDED.search(recorded), _OUR_MARK.search(line)
    if theirs is None or ours is None or len(line) > ANSWER_LINE_CHARS:
        return line
    is_same = ours[2] == theirs[2] and line.startswith(recorded[: min(theirs.start(), ours.start())])
    return recorded if is_same and len(line) - len(ours[0]) + int(ours[1]) == int(ours[2]) else line


def run_prune(case: Case) -> dict[str, Any]:
    """Which rows of a transcript change, and to what."""
    rows = rows_of(case.input["messages"])
    pruned = pruned_of(case)
    after = apply_edit(rows, _edit(pruned), 100_000)
    changed = {str(one.stub.position): _content(one.stub.message.content) for one in pruned}
    return {
        "changed_count": len(pruned),
        "changed_indices": [one.stub.position for one in pruned],
        "changed": changed,
        "tool_call_args_len": [
            [len(call.arguments) for call in row.message.tool_calls] for row in after if row.message.tool_calls
        ],
        "message_count": len(after),
    }


def pruned_of(case: Case) -> tuple[Pruned, ...]:
    """What our prune does to the case's rows."""
    rows = rows_of(case.input["messages"])
    min_chars = case.config.get("min_prune_chars", MIN_RESULT_CHARS)
    return prune_rows(rows, tail_zones(case, rows), RoughCounter(), min_chars)


def tail_zones(case: Case, rows: Sequence[Row]) -> Zones:
    """Zones without a head, with the tail that the case protects."""
    tokens = case.config["protect_tail_tokens"]
    transcript = ListTranscript(rows)
    if tokens is not None:
        return replace(cut_tail(transcript, find_zones(transcript, 0, 1, 0, prune_budget(case))), head_end=None)
    count = min(case.config["protect_tail_count"], len(rows))
    zones = find_zones(transcript, 0, 1, 0, TailBudget(1, 1))
    return replace(zones, head_end=None, tail_start=rows[len(rows) - count].key if count else None)


def prune_budget(case: Case) -> TailBudget:
    """The budget of the tail that is protected, with the ceiling that completes a turn."""
    tokens = case.config["protect_tail_tokens"]
    largest = int(case.config["context_length"] * 0.20)
    return TailBudget(tokens, max(tokens, min(int(1.5 * tokens), largest)))


def _edit(pruned: Sequence[Pruned]) -> Edit:
    return Edit(archived=tuple(one.original.id for one in pruned), inserted=tuple(one.stub for one in pruned))


def _content(content: Any) -> Any:
    if not isinstance(content, tuple):
        return content
    return [{"type": "text", "text": part.text} if isinstance(part, TextPart) else part for part in content]


class _Counted(LiveRows):
    """Live rows whose total is what a provider has reported, where the case says so."""

    def __init__(self, rows: Sequence[Row], reported_tokens: int | None) -> None:
        super().__init__(100_000)
        for row in rows:
            self.insert(row)
        self._reported_more = 0 if reported_tokens is None else reported_tokens - super().live_tokens

    @property
    def live_tokens(self) -> int:
        return super().live_tokens + self._reported_more


def run_proactive(case: Case) -> dict[str, Any]:
    """What a proactive prune does, when the next may run, and what a second one does at once."""
    live = _Counted(rows_of(case.input["messages"]), case.input["current_tokens"])
    context = make_context(replace(policy_of(case), protect_first_n=0), window_of(case), RoughCounter())
    first = plan_prune(live, CompactionState(), context)
    if not isinstance(first, Settlement):
        return {"pruned": 0, "same_object": True, "rearm_tokens": 0, "second_call_pruned": 0}
    live.apply(first.record.edit)
    second = plan_prune(live, first.state, context)
    return {
        "pruned": len(first.record.edit.inserted),
        "same_object": False,
        "rearm_tokens": first.state.prune_rearm_tokens,
        "second_call_pruned": len(second.record.edit.inserted) if isinstance(second, Settlement) else 0,
        "tokens_after": first.record.tokens_after,
    }
