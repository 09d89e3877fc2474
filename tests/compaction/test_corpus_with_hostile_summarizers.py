"""Real transcripts under passes whose summarizer does its worst: the laws hold, whatever comes back (ENGINE 7, 14).

Every readable session of the folder that HERMES_CORPUS names is fed turn by turn, under micro passes, batches, and
both, with prunes beside them. Without the folder there is nothing to run.
"""

import os
from functools import cache
from pathlib import Path

import pytest

from compaction.batch import BatchPlan, plan_batch, settle_batch
from compaction.errors import InvalidSource
from compaction.extractive import ExtractiveSummarizer
from compaction.feed import rows_to_feed
from compaction.formats import iter_source_paths, open_source
from compaction.formats.events import ImportReport
from compaction.live_rows import LiveRows
from compaction.markers import OPENING
from compaction.messages import Role, RowKind
from compaction.micro import MicroPlan, Settlement, plan_micro, settle_micro
from compaction.model_view import model_view
from compaction.pass_context import make_context
from compaction.policy import CompactionPolicy
from compaction.provider_rules import violations
from compaction.prune import plan_prune
from compaction.records import PassKind
from compaction.state import CompactionState
from compaction.summarizer import Reply
from compaction.telemetry import contradictions
from compaction.threshold import Window
from compaction.turns import is_finished, split_turns
from tests.compaction.transcripts import COUNTER

CORPUS = Path(os.environ["HERMES_CORPUS"])


@cache
def sessions():
    """All readable sessions with rows, by file and id. Files of formats that can't be read are others' business."""
    found = {}
    for file in iter_source_paths([CORPUS]):
        try:
            for session in open_source(file, report=ImportReport(str(file))):
                rows = rows_to_feed(session.events(), COUNTER)
                if rows:
                    found[f"{Path(file.label).name}:{session.foreign_id}"] = rows
        except InvalidSource:
            continue
    return found


def stopped(text):
    return Reply(text=text, finish_reason="stop")


# What a summarizer gives back to a request.
HOSTILE = {
    "drops_everything": lambda request: stopped("Nothing that matters."),
    "grows": lambda request: stopped(f"{request.earlier}\n{request.earlier}\n## Key Decisions\n" + "- more\n" * 400),
    "echoes": lambda request: stopped(request.earlier or "## Key Decisions\n- as before"),
    "truncates": lambda request: Reply(text="## Key Decisions\n- it was deci", finish_reason="length"),
    "refuses": lambda request: stopped("I'm sorry, but I can't summarize this conversation."),
    "thinks_only": lambda request: Reply(text="<think>what to say</think>", reasoning="hm", finish_reason="stop"),
    "returns_the_prompt": lambda request: stopped(request.user),
    "returns_tool_calls": lambda request: Reply(text=None, has_tool_calls=True, finish_reason="tool_calls"),
    "writes_tool_calls": lambda request: stopped('<tool_call>{"name": "terminal"}</tool_call>'),
    "fails": lambda request: Reply(error="http_500"),
}
POLICIES = {"micro": (True, False), "batch": (False, True), "micro+batch": (True, True)}


class Run:
    """One session under one policy. Two of three answers are hostile, so that good and bad passes follow each other."""

    def __init__(self, rows, hostile, with_micro, with_batch):
        tokens = sum(row.tokens for row in rows)
        policy = CompactionPolicy(
            micro_compact=with_micro, enabled=True, threshold_floor=False, threshold=0.60, target_ratio=0.10,
            micro_compact_defrag_threshold_tokens=400, proactive_prune_tokens=tokens // 4,
            proactive_prune_min_result_chars=500, proactive_prune_min_reclaim_tokens=200,
        )  # fmt: skip
        self.context = make_context(policy, Window(max(1_200, tokens // 2)), COUNTER)
        self.with_batch = with_batch
        self.hostile, self.good = hostile, ExtractiveSummarizer(COUNTER)
        self.live, self.state = LiveRows(10_000_000), CompactionState()
        self.appended, self.archived, self.asked, self.now = [], [], 0, 0.0
        self.committed = self.failed = 0
        for turn in split_turns(rows):
            self.feed(turn)

    def feed(self, turn):
        self.now += 60
        for row in turn:
            self.live.insert(row)
            self.appended.append(row)
        self.take(plan_prune(self.live, self.state, self.context))
        self.take(plan_micro(self.live, self.state, self.context, turn_finished=is_finished(turn)))
        if self.with_batch:
            self.take(plan_batch(self.live, self.state, self.context, now=self.now))

    def answer(self, request):
        if request is None:
            return None
        self.asked += 1
        return self.good.ask(request) if self.asked % 3 == 0 else self.hostile(request)

    def take(self, plan):
        if isinstance(plan, MicroPlan):
            plan = settle_micro(plan, self.answer(plan.request))
        elif isinstance(plan, BatchPlan):
            resort = self.good.ask(plan.request) if plan.is_critical and plan.request else None
            plan = settle_batch(plan, self.answer(plan.request), resort)
        before = tuple(self.live.forward())
        if isinstance(plan, Settlement):
            self.archived += self.live.apply(plan.record.edit).archived
            self.check(plan.record, before)
        self.state = plan.state

    def check(self, record, before):
        after = tuple(self.live.forward())
        assert contradictions(record) == ()
        if record.edit.is_empty:
            self.failed += 1
            assert all(old is new for old, new in zip(before, after, strict=True))
            return
        self.committed += 1
        gone = [row for row in before if row.id in record.edit.archived]
        assert all(record.zones.holds_in_middle(row.key) for row in gone)
        if record.kind is not PassKind.BATCH:
            assert all(row.role in (Role.ASSISTANT, Role.TOOL) for row in gone)
        assert sum(row.kind is RowKind.MICRO_SUMMARY for row in after) <= 1
        assert self.live.live_tokens == sum(row.tokens for row in after) == record.tokens_after
        for row in record.edit.inserted:
            assert row.kind is RowKind.PRUNE_STUB or row.message.text.count(OPENING) == 1
            assert "<tool_call>" not in row.message.text or row.kind is RowKind.PRUNE_STUB
        assert violations(model_view(after).messages) == ()


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("policy", POLICIES)
def test_laws_hold_on_real_sessions_whatever_the_summarizer_says(policy, hostile):
    asked = 0
    for name, rows in sessions().items():
        run = Run(rows, HOSTILE[hostile], *POLICIES[policy])
        kept = [row for row in run.live.forward() if row.kind is RowKind.MESSAGE]
        gone = [row for row in run.archived if row.kind is RowKind.MESSAGE]
        fed = [row for row in run.appended if row.kind is RowKind.MESSAGE]
        assert sorted([*kept, *gone], key=lambda row: row.id) == fed, name
        asked += run.asked
    assert asked > 30


@pytest.mark.parametrize("name", sorted(sessions(), key=lambda name: -len(sessions()[name]))[:3])
def test_on_long_sessions_good_passes_and_bad_ones_follow_each_other(name):
    run = Run(sessions()[name], HOSTILE["fails"], *POLICIES["micro+batch"])
    assert run.committed and run.failed
