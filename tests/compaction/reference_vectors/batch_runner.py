"""Runner for batches: recorded transcripts compacted by our engine, step by step, under the case's own settings.

Recorded batches ran because somebody said so, so ours are made by hand, unless something holds automatic ones back and
the case does not insist. Each step also says what conditions want to know: how the pass ended, which window it took,
and whether its zones are those that the rules demand, worked out anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from compaction.batch import BatchPlan, plan_batch, settle_batch
from compaction.batch_guard import blocked_by
from compaction.batch_telemetry import BatchAttempt, Trigger, batch_mapping
from compaction.batch_window import BatchWindow, batch_window
from compaction.live_rows import LiveRows
from compaction.messages import Row
from compaction.pass_context import make_context
from compaction.passes import PassContext, Settlement
from compaction.prune import shorten_results
from compaction.records import Outcome, PassRecord
from compaction.serialise import serialise
from compaction.state import CompactionState
from compaction.summarizer import Reply, SummaryRequest
from compaction.tokens import RoughCounter
from compaction.wire import message_to_openai
from compaction.zones import find_zones
from tests.compaction.reference_vectors import rules
from tests.compaction.reference_vectors.cases import Case
from tests.compaction.reference_vectors.settings_runners import policy_of, window_of
from tests.compaction.reference_vectors.transcript_runners import budget_of, rows_of

_LETTERS = {"system": "s", "user": "u", "assistant": "a", "tool": "t", "developer": "d"}
_SECONDS_PER_STEP = 1.0
MODEL = "stub-model"


@dataclass(frozen=True)
class BatchStep:
    """What our engine did at one step. record: None when something held the batch back."""

    values: dict[str, Any]
    record: PassRecord | None
    window: BatchWindow
    rows: tuple[Row, ...]
    state: CompactionState
    has_zones_by_rule: bool

    @property
    def window_tokens(self) -> int:
        """What the rows cost that the batch would take out."""
        return self.window.tokens


_CASES: dict[str, Case] = {}


def run_compress(case: Case) -> dict[str, Any]:
    """All steps of the case."""
    return {"steps": [step.values for step in batch_steps(case)]}


def batch_steps(case: Case) -> tuple[BatchStep, ...]:
    """The steps, run once."""
    _CASES[case.id] = case
    return _steps(case.id)


@cache
def _steps(case_id: str) -> tuple[BatchStep, ...]:
    case = _CASES[case_id]
    session = _Session(case)
    return tuple(session.step(given) for given in case.input["steps"])


class _Session:
    """A session that is fed and compacted step by step."""

    def __init__(self, case: Case) -> None:
        self._policy = policy_of(case)
        context = make_context(self._policy, window_of(case), RoughCounter(), main_model=MODEL)
        self._context: PassContext = replace(context, tail=budget_of(case))
        self._live = LiveRows(100_000)
        self._fed = 0
        self._feed(case.input["messages"])
        self._state = CompactionState(batch_strikes=case.input["state"].get("_ineffective_compression_count", 0))
        self._commits = 0
        self._now = 1_000.0

    def _feed(self, raws: list[dict[str, Any]]) -> None:
        for raw in raws:
            (row,) = rows_of([raw])
            self._live.insert(replace(row, id=self._fed, position=self._fed))
            self._fed += 1

    def step(self, given: dict[str, Any]) -> BatchStep:
        """Append the step's messages and make a batch, if nothing holds it back."""
        self._feed(given["append"])
        self._now += _SECONDS_PER_STEP
        rows, kwargs = tuple(self._live.forward()), given["kwargs"]
        window, by_rule = self._window(rows)
        if not kwargs.get("force") and blocked_by(self._state, self._live.live_tokens, self._now):
            return BatchStep(self._values(None, None, window), None, window, rows, self._state, by_rule)
        focus = kwargs.get("focus_topic") or ""
        planned = plan_batch(self._live, self._state, self._context, now=self._now, is_manual=True, focus=focus)
        request = planned.request if isinstance(planned, BatchPlan) else None
        if isinstance(planned, BatchPlan):
            planned = settle_batch(planned, _reply(given["stub"]))
        assert isinstance(planned, Settlement)
        self._state = planned.state
        self._commits += planned.record.is_committed
        self._live.apply(planned.record.edit)
        values = self._values(planned.record, request, window)
        return BatchStep(values, planned.record, window, rows, self._state, by_rule)

    def _window(self, rows: tuple[Row, ...]) -> tuple[BatchWindow, bool]:
        """What a batch would take, and whether that is what the rules say."""
        policy, budget, limit = self._policy, self._context.tail, self._context.head_limit_tokens
        zones = find_zones(self._live, policy.protect_first_n, policy.min_tail_user_messages, limit, budget)
        window = batch_window(self._live, zones)
        raws = [message_to_openai(row.message) for row in rows]
        head = rules.head_end(rows, rules.opening_rows(raws, policy.protect_first_n))
        tail = rules.tail_start(rows, head, budget, policy.min_tail_user_messages)
        if tail is None:
            tail = rules.edge_within(rows, head, budget.budget_tokens)
        return window, (window.zones.head_rows, window.zones.head_rows + window.zones.middle_rows) == (head, tail)

    def _values(self, record: PassRecord | None, request: SummaryRequest | None, window: BatchWindow) -> dict[str, Any]:
        rows = tuple(self._live.forward())
        zones = window.zones
        places = [n for n, row in enumerate(rows) if row.is_summary]
        return {
            "window": [zones.head_rows, zones.head_rows + zones.middle_rows],
            "llm_calls": int(request is not None),
            "models_called": [MODEL] if request is not None else [],
            "prompts": [] if request is None else [_prompt(request)],
            "messages": [message_to_openai(row.message) for row in rows],
            "roles": "".join(_LETTERS[row.role] for row in rows),
            "summary_indices": places,
            "summary_roles": [str(rows[place].role) for place in places],
            "summary_classification": ["standalone"] * len(places),
            "unchanged": record is None or not record.is_committed,
            "state": self._shown_state(record, rows),
            "telemetry": _telemetry(record),
        }

    def _shown_state(self, record: PassRecord | None, rows: tuple[Row, ...]) -> dict[str, Any]:
        cooldown = self._state.cooldown_until
        is_committed = record is not None and record.is_committed
        return {
            "previous_summary": record.summary_after if record is not None and is_committed else None,
            "compression_count": self._commits,
            "fallback_used": record is not None and record.outcome is Outcome.FALLBACK,
            "aborted": record is not None and record.outcome is Outcome.ABORTED,
            "dropped_count": 0,
            "last_error_kind": (record.reason or None) if record is not None else None,
            "made_progress": is_committed,
            "has_user_turn": any(row.is_user for row in rows),
            "cooldown_s": 0 if cooldown is None else max(0, round(cooldown - self._now)),
        }


def _reply(stub: dict[str, Any]) -> Reply:
    """The scripted reply of a step."""
    kind, text = stub["kind"], stub.get("text")
    if kind == "raise_status":
        return Reply(error=f"http_{stub['status']}", error_detail=stub.get("error", ""))
    if kind in ("raise", "raise_timeout"):
        return Reply(error="timeout" if kind == "raise_timeout" else "connection", error_detail=stub.get("error") or "")
    if kind == "refusal":
        return Reply("I'm sorry, but I cannot summarize this conversation.", "stop")
    if kind == "think_only":
        return Reply("<think>nothing to say</think>", "stop")
    if kind in ("empty", "none", "blank"):
        return Reply({"empty": "", "none": None, "blank": "  \n"}[kind], "stop")
    return Reply(text, "length" if kind == "length" else "stop", refusal="no" if kind == "refusal_field" else None)


def _prompt(request: SummaryRequest) -> dict[str, Any]:
    headings = [line.partition(" (")[0] for line in request.user.splitlines() if line.startswith("## ")]
    return {
        "form": "update" if request.earlier else "fresh",
        "previous_summary": request.earlier or None,
        "turns": serialise(shorten_results(request.messages, RoughCounter()).messages),
        "memory_block": None,
        "template_headings": headings,
        "target_tokens": request.budget_tokens,
        "focus_topic": request.focus or None,
    }


def _telemetry(record: PassRecord | None) -> dict[str, Any]:
    """The line of an attempt; what a shorter line leaves out is open, and no items were dropped."""
    fields = {} if record is None else batch_mapping(record, "", BatchAttempt("", Trigger.MANUAL, "rough"))
    return _Open({"items_dropped": 0, **fields})


class _Open(dict[str, Any]):
    """Fields of which the missing ones are null, as the cases write them."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key, None)
