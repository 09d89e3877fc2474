"""Runner for micro passes: recorded turns fed to our engine under the case's own settings.

Both sides start from the same rows, but our zones are made of whole turns and never decay, so most cases take another
exchange. Each step therefore also says whether its zones are those that the rules demand, worked out anew; conditions
rest on that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from compaction.live_rows import LiveRows
from compaction.messages import Row, RowKey
from compaction.micro import MicroPlan, plan_micro, settle_micro
from compaction.pass_context import make_context
from compaction.passes import PassContext, Settlement
from compaction.serialise import serialise
from compaction.state import CompactionState
from compaction.summarizer import Reply, SummaryRequest
from compaction.telemetry import MICRO_PREFIX, log_lines, micro_figures
from compaction.tokens import RoughCounter
from compaction.wire import message_to_openai
from compaction.zones import Zones, find_zones
from tests.compaction.reference_vectors import rules
from tests.compaction.reference_vectors.cases import Case
from tests.compaction.reference_vectors.settings_runners import policy_of, window_of
from tests.compaction.reference_vectors.transcript_runners import budget_of, rows_of

_LETTERS = {"system": "s", "user": "u", "assistant": "a", "tool": "t"}


@dataclass(frozen=True)
class Step:
    """What our engine did at one step, by recorded key, and what conditions want to know about it."""

    values: dict[str, Any]
    reason: str
    has_zones_by_rule: bool


_CASES: dict[str, Case] = {}


def run_micro_pass(case: Case) -> dict[str, Any]:
    """All steps of the case."""
    return {"steps": [step.values for step in steps_of(case)]}


def steps_of(case: Case) -> tuple[Step, ...]:
    """The steps, run once."""
    _CASES[case.id] = case
    return _steps(case.id)


@cache
def _steps(case_id: str) -> tuple[Step, ...]:
    case = _CASES[case_id]
    session = _Session(case)
    return tuple(session.step(given) for given in case.input["steps"])


class _Session:
    """A session that is fed and compacted step by step."""

    def __init__(self, case: Case) -> None:
        self._policy = policy_of(case)
        context = make_context(self._policy, window_of(case), RoughCounter(), main_model="stub-model")
        self._context: PassContext = replace(context, tail=budget_of(case))
        self._raws = list(case.input["messages"])
        self._live = LiveRows(100_000)
        for row in rows_of(self._raws):
            self._live.insert(row)
        self._state = _state(case.input["state"])
        self._passes = 0

    def step(self, given: dict[str, Any]) -> Step:
        """Append the step's messages, end a turn, and settle what is planned."""
        self._append(given["append"])
        if "cursor_override" in given:
            self._state = replace(self._state, cursor=RowKey(given["cursor_override"], 0))
        zones, by_rule = self._zones()
        planned = plan_micro(self._live, self._state, self._context)
        if not isinstance(planned, MicroPlan):
            self._state = planned.state
            return Step(self._values(None, None, zones), planned.reason, by_rule)
        reply = _reply(given["stub"], planned, self._passes + 1)
        settled = settle_micro(planned, None if planned.request is None else reply)
        self._passes += settled.record.is_committed
        self._state = settled.state
        self._live.apply(settled.record.edit)
        return Step(self._values(settled, planned.request, zones), settled.record.reason, by_rule)

    def _append(self, raws: list[dict[str, Any]]) -> None:
        for raw in raws:
            (row,) = rows_of([raw])
            self._live.insert(replace(row, id=len(self._raws), position=len(self._raws)))
            self._raws.append(raw)

    def _zones(self) -> tuple[Zones, bool]:
        """The zones of the live rows, and whether they are what the rules say."""
        rows, policy, budget = list(self._live.forward()), self._policy, self._context.tail
        assert budget is not None
        limit, wanted = self._context.head_limit_tokens, policy.min_tail_user_messages
        zones = find_zones(self._live, policy.protect_first_n, wanted, limit, budget)
        opening = rules.opening_rows(self._raws, policy.protect_first_n)
        head = rules.head_end(rows, opening)
        tail = rules.tail_start(rows, head, budget, wanted)
        start = None if zones.tail_start is None else [row.key for row in rows].index(zones.tail_start)
        return zones, (zones.head_rows, start) == (head, tail)

    def _values(self, settled: Settlement | None, request: SummaryRequest | None, zones: Zones) -> dict[str, Any]:
        rows = tuple(self._live.forward())
        return {
            "outcome": None if settled is None else str(settled.record.outcome),
            "window": [zones.head_rows, zones.head_rows + zones.middle_rows],
            "llm_calls": int(request is not None),
            "prompts": [] if request is None else [_prompt(request)],
            "messages": [_message(row) for row in rows],
            "roles": "".join(_LETTERS[row.role] for row in rows),
            "marker_positions": [n for n, row in enumerate(rows) if row.is_summary],
            "returned_same_list": settled is None or not settled.record.is_committed,
            "state": _shown_state(self._state, rows),
            "telemetry": None if settled is None else micro_figures(settled.record, "").to_mapping(),
            "log_lines": [] if settled is None else _lines(settled),
        }


def _state(given: dict[str, Any]) -> CompactionState:
    rolling = given.get("rolling_summary", "")
    failing = given.get("last_failure_cursor")
    return CompactionState(
        rolling_summary=rolling,
        rolling_summary_tokens=RoughCounter().count(rolling),
        failing_exchange=None if failing is None else RowKey(failing, failing),
        exchange_failures=given.get("consecutive_failures", 0),
    )


def _reply(stub: dict[str, Any], plan: MicroPlan, number: int) -> Reply:
    """The scripted reply of a step; `append` adds a line to the running summary."""
    kind = stub["kind"]
    if kind in ("raise", "raise_timeout"):
        return Reply(error="timeout" if kind == "raise_timeout" else "connection")
    if kind == "append":
        return Reply(f"{plan.earlier}\n- m{number}".strip(), finish_reason="stop")
    if kind == "refusal":
        return Reply("I'm sorry, but I cannot summarize this checkpoint.", finish_reason="stop")
    text = {"none": None, "empty": ""}.get(kind, stub.get("text"))
    finish = "length" if kind == "length" else "stop"
    return Reply(text, finish, refusal="no" if kind == "refusal_field" else None)


def _prompt(request: SummaryRequest) -> dict[str, Any]:
    return {
        "roles": ["system", "user"],
        "existing_summary": request.earlier or None,
        "exchange_text": serialise(request.messages),
        "max_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "task": "compression",
    }


def _message(row: Row) -> dict[str, Any]:
    return {name: value for name, value in message_to_openai(row.message).items() if not name.startswith("_")}


def _shown_state(state: CompactionState, rows: tuple[Row, ...]) -> dict[str, Any]:
    """The state in the spelling of the cases: cursors as places in the list of live rows."""
    failing = state.failing_exchange
    return {
        "cursor": 0 if state.cursor is None else _place(state.cursor, rows),
        "rolling_summary": state.rolling_summary,
        "consecutive_failures": state.exchange_failures,
        "last_failure_cursor": -1 if failing is None else _place(failing, rows),
        "turns_since_pass": state.turns_since_pass,
    }


def _place(key: RowKey, rows: tuple[Row, ...]) -> int:
    return sum(row.key < key for row in rows)


def _lines(settled: Settlement) -> list[str]:
    texts = [line.text for line in log_lines(settled.record, "")]
    return [MICRO_PREFIX + "<json>" if text.startswith(MICRO_PREFIX) else text for text in texts]
