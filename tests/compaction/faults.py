"""Inputs of known faults as rows, and a session under passes for trying them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from compaction.batch import BatchPlan, plan_batch, settle_batch
from compaction.budgets import TailBudget
from compaction.live_rows import LiveRows
from compaction.messages import RowKind
from compaction.micro import MicroPlan, plan_micro, settle_micro
from compaction.model_view import model_view
from compaction.pass_context import make_context
from compaction.passes import Nothing
from compaction.policy import CompactionPolicy
from compaction.provider_rules import violations
from compaction.state import CompactionState
from compaction.summarizer import Reply
from compaction.threshold import Window
from compaction.turns import is_finished, split_turns
from compaction.wire import message_from_openai
from tests.compaction.transcripts import COUNTER, rows_of, with_kind

INPUTS = Path(__file__).parents[1] / "data" / "bugs"
GOOD = Reply(text="## Key Decisions\n- keep sqlite, because the site runs on one machine", finish_reason="stop")


def load(name):
    """The JSON of the fault's file."""
    (path,) = INPUTS.glob(f"{name}_*.json")
    return json.loads(path.read_text(encoding="utf-8"))


def rows_from(raws):
    """Rows of provider messages; one that is marked as a summary is a rolling one."""
    rows = rows_of(*(message_from_openai(raw, lambda problem: None) for raw in raws))
    return tuple(
        with_kind(row) if raw.get("meta", {}).get("kind") == "marker" else row
        for row, raw in zip(rows, raws, strict=True)
    )


def rows_for(name):
    """Rows of the fault's file, which holds a list of messages or an object with one."""
    loaded = load(name)
    return rows_from(loaded["messages"] if isinstance(loaded, dict) else loaded)


class Session:
    """Live rows under passes, with the records of all of them."""

    def __init__(self, rows=(), window_tokens=8_000, overhead_tokens=0, aux_window_tokens=None, **settings):
        policy = CompactionPolicy(**({"micro_compact": True, "protect_first_n": 1} | settings))
        self.context = make_context(
            policy, Window(window_tokens), COUNTER,
            fixed_overhead_tokens=overhead_tokens, aux_window_tokens=aux_window_tokens,
        )  # fmt: skip
        self.live = LiveRows(100_000)
        self.state = CompactionState()
        self.records = []
        self.now = 1_000.0
        for row in rows:
            self.live.insert(row)

    def tail_of(self, tokens):
        """The same session with a tail of so many tokens."""
        self.context = replace(self.context, tail=TailBudget(tokens, tokens))
        return self

    def tail_is_newest_turn(self):
        """The same session with a tail that the newest turn fills."""
        return self.tail_of(sum(row.tokens for row in list(split_turns(self.rows))[-1]))

    @property
    def rows(self):
        return tuple(self.live.forward())

    @property
    def view(self):
        return model_view(self.rows).messages

    @property
    def summaries(self):
        return [row for row in self.rows if row.is_summary]

    def append(self, *messages):
        for row in rows_of(*messages):
            place = max((each.position for each in self.rows), default=-1) + 1
            self.live.insert(replace(row, id=50_000 + place, position=place))

    def micro(self, reply=GOOD):
        """A micro pass; the plan where there is nothing to do. `reply` may be made from the plan."""
        plan = plan_micro(self.live, self.state, self.context)
        if not isinstance(plan, MicroPlan):
            self.state = plan.state
            return plan
        answer = reply(plan) if callable(reply) else reply
        return self._take(settle_micro(plan, None if plan.request is None else answer))

    def batch(self, reply=GOOD, is_manual=True, last_resort=None):
        plan = plan_batch(self.live, self.state, self.context, now=self.now, is_manual=is_manual)
        if isinstance(plan, Nothing):
            return plan
        if isinstance(plan, BatchPlan):
            plan = settle_batch(plan, reply(plan) if callable(reply) else reply, last_resort)
        return self._take(plan)

    def _take(self, settled):
        self.live.apply(settled.record.edit)
        self.state = settled.state
        self.records.append(settled.record)
        assert violations(self.view) == ()
        assert self.live.live_tokens == sum(row.tokens for row in self.rows)
        return settled.record

    def feed(self, rows, reply=GOOD):
        """Rows turn by turn, with the pass that each finished turn brings."""
        for turn in split_turns(rows):
            for row in turn:
                self.live.insert(row)
            if is_finished(turn):
                self.micro(reply)


def of_kind(rows, kind):
    return [row for row in rows if row.kind is kind]


def originals(rows):
    """Rows that no pass made."""
    return of_kind(rows, RowKind.MESSAGE)
