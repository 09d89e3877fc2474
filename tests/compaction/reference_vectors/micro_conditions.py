"""Conditions of deviations in micro passes. They rest on zones that `rules` works out anew for every step."""

from __future__ import annotations

from typing import Any

from compaction.micro import NothingReason
from tests.compaction.reference_vectors.cases import MISSING, Case
from tests.compaction.reference_vectors.condition_names import condition
from tests.compaction.reference_vectors.micro_runner import Step, steps_of
from tests.compaction.reference_vectors.settings_runners import policy_of

_WAITS = {NothingReason.BELOW_TAIL_BUDGET, NothingReason.NO_COMPLETE_EXCHANGE, NothingReason.NEWEST_TURN_EXCEEDS_TAIL}


def _number(key: str) -> int:
    return int(key.split(".")[1])


def _until(case: Case, key: str) -> list[tuple[Step, dict[str, Any]]]:
    """Our steps and the recorded ones, up to the one that `key` is about."""
    return list(zip(steps_of(case), case.expected["steps"], strict=True))[: _number(key) + 1]


def _step(case: Case, key: str) -> Step:
    return steps_of(case)[_number(key)]


def _zones_differ(case: Case, key: str) -> bool:
    """Whether zones by our rules differ from the recorded window at this step or an earlier one."""
    steps = _until(case, key)
    return all(ours.has_zones_by_rule for ours, _ in steps) and any(
        ours.values["window"] != recorded["window"] for ours, recorded in steps
    )


@condition
def zones_are_whole_turns(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Head and tail are what our rules say at every step so far, and not what was recorded: the pass takes, leaves or
    comes to stand at other rows."""
    return _zones_differ(case, key)


@condition
def nothing_complete_in_the_middle(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Between head and tail lies no complete exchange; the recorded window reaches into one of them."""
    return _zones_differ(case, key) and _step(case, key).reason in _WAITS


@condition
def answer_may_reach_the_defrag_threshold(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The output limit follows the defrag threshold."""
    return got == int(1.25 * policy_of(case).micro_compact_defrag_threshold_tokens)


@condition
def state_of_a_process(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A fact about the other implementation's process: there is none such here, the state is stored."""
    return got == MISSING


@condition
def cost_is_the_sum_of_row_costs(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Tokens are summed from the costs of rows; the figures of the step fit together."""
    figures = _step(case, key).values["telemetry"]
    return figures is not None and figures["tokens_before"] + figures["tokens_delta"] == figures["tokens_after"]


@condition
def absorption_goes_on_after_a_defrag_in_vain(case: Case, key: str, expected: Any, got: Any) -> bool:
    """An earlier defrag failed or gained nothing; the next one waits, and exchanges are absorbed meanwhile."""
    earlier = [ours.values["outcome"] for ours, _ in _until(case, key)[:-1]]
    return any(outcome in ("defrag_failed", "defrag_no_gain") for outcome in earlier)


@condition
def no_summary_row_to_rewrite(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A running summary is carried in without a live row; a defrag rewrites a row."""
    return bool(case.input["state"].get("rolling_summary")) and not any(
        raw.get("_micro_compact_marker") for raw in case.input["messages"]
    )


@condition
def another_exchange_failed_before(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The exchange that failed lies in the head by our rules; the one that fails now does so for the first time."""
    return "last_failure_cursor" in case.input["state"] and _zones_differ(case, key)


@condition
def process_was_started_anew(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The recorded totals began again with a process; ours run over the session."""
    return any("new_process" in given for given in case.input["steps"][: _number(key) + 1])


@condition
def summary_row_was_replaced(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A defrag replaces the summary row; the recorded one rewrote its text in place."""
    return _step(case, key).values["outcome"] == "defrag" == case.expected["steps"][_number(key)]["outcome"]


@condition
def user_rows_stay_apart(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The recorded pass joined neighbouring user messages; ours leaves rows as they are."""
    rows = _step(case, key).values["roles"]
    return "uu" in rows and rows.count("u") > case.expected["steps"][_number(key)]["roles"].count("u")


@condition
def lines_for_people_are_ours(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Both log one line of JSON; the lines beside it are each side's own."""
    is_json = [[line for line in lines if line.endswith("<json>")] for lines in (expected, got)]
    return is_json[0] == is_json[1]
