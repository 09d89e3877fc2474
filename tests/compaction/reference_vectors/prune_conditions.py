"""Conditions of deviations in pruning and in what lets a batch run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compaction.batch_guard import STRIKES_TO_PAUSE
from compaction.messages import ImagePart, Role, Row
from tests.compaction.reference_vectors import rules
from tests.compaction.reference_vectors.cases import MISSING, Case
from tests.compaction.reference_vectors.condition_names import condition
from tests.compaction.reference_vectors.firing_runner import states_of
from tests.compaction.reference_vectors.prune_runner import prune_budget, run_proactive, run_prune
from tests.compaction.reference_vectors.settings_runners import policy_of
from tests.compaction.reference_vectors.transcript_runners import budget_of, rows_of

PICTURES = 3
FRESH_ROWS = 10


def _tail_start(case: Case, rows: Sequence[Row]) -> int:
    """Where the tail begins by our rules: at a number of rows, or at a whole turn, or at an edge inside the newest."""
    if case.config["protect_tail_tokens"] is None:
        return max(0, len(rows) - case.config["protect_tail_count"])
    budget = prune_budget(case)
    whole = rules.tail_start(rows, 0, budget, 1)
    return rules.edge_within(rows, 0, budget.budget_tokens) if whole is None else whole


def _has_picture(row: Row) -> bool:
    content = row.message.content
    return isinstance(content, tuple) and any(isinstance(part, ImagePart) for part in content)


def _pictured(rows: Sequence[Row]) -> list[int]:
    return [place for place, row in enumerate(rows) if row.role is Role.TOOL and _has_picture(row)]


def _unread(rows: Sequence[Row]) -> set[int]:
    newest = max((place for place, row in enumerate(rows) if row.role is Role.ASSISTANT), default=-1)
    return set(range(newest + 1, len(rows)))


def _changed_by_rule(case: Case) -> list[int]:
    """The results that a prune changes: before the tail, read, without one of the newest pictures, and long, repeated
    or with old pictures. Instructions in use are left out."""
    rows = rows_of(case.input["messages"])
    least = case.config.get("min_prune_chars", 200)
    kept = _unread(rows) | set(_pictured(rows)[-PICTURES:]) | _skills_in_use(case, rows)
    return [
        place
        for place, row in enumerate(rows[: _tail_start(case, rows)])
        if row.role is Role.TOOL and place not in kept and _is_worth_it(rows, place, least)
    ]


def _is_worth_it(rows: Sequence[Row], place: int, least: int) -> bool:
    text = rows[place].message.text
    is_line = len(text) < 400 and text.startswith("[") and " chars)" in text
    is_repeated = len(text) >= 200 and any(
        later.role is Role.TOOL and later.message.content == rows[place].message.content for later in rows[place + 1 :]
    )
    return _has_picture(rows[place]) or is_repeated or (len(text) > least and not is_line)


def _skills_in_use(case: Case, rows: Sequence[Row]) -> set[int]:
    calls = {call.id: call for row in rows for call in row.message.tool_calls if call.name == "skill_view"}
    asked = " ".join(row.message.text for row in rows[_tail_start(case, rows) :] if row.is_user).lower()
    found = set()
    for place, row in enumerate(rows):
        call = calls.get(row.message.tool_call_id) if row.role is Role.TOOL else None
        name = "" if call is None else call.arguments.partition('"name": "')[2].partition('"')[0].lower()
        if call is not None and (place >= len(rows) - FRESH_ROWS or (name and name in asked)):
            found.add(place)
    return found


def _is_by_rule(case: Case, key: str, got: Any) -> bool:
    """Whether our value of this key follows from the rows that the rules name."""
    changed = _changed_by_rule(case)
    if key == "changed_count":
        return bool(got == len(changed))
    if key == "changed_indices":
        return bool(got == changed)
    place = int(key.split(".")[1])
    return got == MISSING and place not in changed


def _more(case: Case) -> set[int]:
    """The rows that the recorded prune changes and ours does not."""
    return set(case.expected["changed_indices"]) - set(run_prune(case)["changed_indices"])


@condition
def prune_stays_before_the_tail(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The tail is made of whole turns within a budget, or the recorded prune reaches into the rows it protects."""
    start = _tail_start(case, rows_of(case.input["messages"]))
    is_within = case.config["protect_tail_tokens"] is not None or any(place >= start for place in _more(case))
    return is_within and _is_by_rule(case, key, got)


@condition
def newest_group_stays(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Results at the end that no assistant row follows stay, whatever they cost."""
    return bool(_more(case) & _unread(rows_of(case.input["messages"]))) and _is_by_rule(case, key, got)


@condition
def newest_pictures_stay(case: Case, key: str, expected: Any, got: Any) -> bool:
    """One of the newest three pictures stands before the tail and stays."""
    newest = set(_pictured(rows_of(case.input["messages"]))[-PICTURES:])
    return bool(_more(case) & newest) and _is_by_rule(case, key, got)


@condition
def prune_rearms_after_regrowth(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The next prune waits for as much regrowth as a prune has to free."""
    tokens_after = run_proactive(case).get("tokens_after", MISSING)
    return tokens_after != MISSING and got == tokens_after + policy_of(case).proactive_prune_min_reclaim_tokens


@condition
def results_are_in_the_tail(case: Case, key: str, expected: Any, got: Any) -> bool:
    """All results stand in a tail of whole turns, so there is nothing to prune."""
    rows = rows_of(case.input["messages"])
    start = rules.tail_start(rows, int(rows[0].role is Role.SYSTEM), budget_of(case), 1)
    before = rows[:start] if start is not None else rows
    return not any(row.role is Role.TOOL for row in before) and run_proactive(case)["pruned"] == 0


# Firing


def _number(key: str) -> int:
    return int(key.split(".")[1])


@condition
def no_such_figure_here(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A figure of the other implementation that has no counterpart: nothing of ours depends on it."""
    return got == MISSING


@condition
def strikes_go_on_counting(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A probe that did not help is one more strike; batches are paused as before."""
    state = states_of(case)[_number(key)]
    return min(expected, got) >= STRIKES_TO_PAUSE and got > expected and state.paused_until is not None


@condition
def only_time_and_growth_lift_a_pause(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The recorded implementation forgets strikes and cool-downs when the model is switched; ours go by their rules."""
    before = case.input["steps"][: _number(key) + 1]
    return any(step[0] == "model" for step in before) and states_of(case)[_number(key)].batch_strikes > 0
