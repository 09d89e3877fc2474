"""Conditions of deviations in batches. They rest on windows that `rules` works out anew for every step."""

from __future__ import annotations

from typing import Any

from compaction.batch_guard import COOLDOWN_SECONDS
from compaction.messages import Role, Row
from compaction.prune import shorten_results
from compaction.records import Outcome
from compaction.redaction import redact_message
from compaction.sections import Section
from compaction.serialise import serialise
from compaction.tokens import RoughCounter
from tests.compaction.reference_vectors.batch_runner import BatchStep, batch_steps
from tests.compaction.reference_vectors.cases import Case
from tests.compaction.reference_vectors.condition_names import condition

_LETTERS = {Role.SYSTEM: "s", Role.USER: "u", Role.ASSISTANT: "a", Role.TOOL: "t", Role.DEVELOPER: "d"}
_ZONES = ("protected_head_tokens", "middle_window_tokens", "protected_tail_tokens")
_REPLACED_FROM = 0.95


def _number(key: str) -> int:
    return int(key.split(".")[1])


def _name(key: str) -> str:
    return key.rpartition(".")[2]


def _step(case: Case, key: str) -> BatchStep:
    return batch_steps(case)[_number(key)]


def _recorded(case: Case, key: str) -> dict[str, Any]:
    found: dict[str, Any] = case.expected["steps"][_number(key)]
    return found


def _is_by_rule(case: Case, key: str) -> bool:
    return all(step.has_zones_by_rule for step in batch_steps(case)[: _number(key) + 1])


def _letters(rows: tuple[Row, ...]) -> str:
    return "".join(_LETTERS[row.role] for row in rows)


def _outcome(step: BatchStep) -> Outcome | None:
    return None if step.record is None else step.record.outcome


def _is_left_alone(case: Case, key: str) -> bool:
    """Whether ours changed no row at this step, while the recorded batch was committed."""
    step = _step(case, key)
    values = step.values
    is_same = values["roles"] == _letters(step.rows) and values["unchanged"]
    return is_same and not _recorded(case, key)["unchanged"] and _is_by_rule(case, key)


# The window and what is asked


@condition
def batch_takes_whole_turns(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The window lies between a head and a tail of whole turns, and the question holds exactly its rows."""
    step = _step(case, key)
    if _name(key) == "window":
        return step.has_zones_by_rule
    covered = [redact_message(row.message) for row in step.window.covered]
    return step.has_zones_by_rule and got == serialise(shorten_results(covered, RoughCounter()).messages)


@condition
def zone_tokens_are_sums_of_row_costs(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The figure is the sum of the costs of these rows; nothing is told of an attempt that was not made."""
    step = _step(case, key)
    if step.record is None:
        return got is None
    costs = [row.tokens for row in step.rows]
    start, end = step.values["window"]
    sums = dict(zip(_ZONES, (sum(costs[:start]), sum(costs[start:end]), sum(costs[end:])), strict=True))
    return _is_by_rule(case, key) and got == sums.get(_name(key), sum(costs))


@condition
def headings_are_ours(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The nine sections in their order."""
    return bool(got == [f"## {section}" for section in Section if section is not Section.ANCHORS])


@condition
def budget_follows_what_is_replaced(case: Case, key: str, expected: Any, got: Any) -> bool:
    """So little is replaced that half of it is less than the floor."""
    return bool(got == _step(case, key).window_tokens // 2 < 2_000)


@condition
def only_a_person_gives_a_focus(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Nobody named a focus, so there is none."""
    return "focus_topic" not in case.input["steps"][_number(key)]["kwargs"] and got is None


@condition
def nothing_is_added_from_elsewhere(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A memory of another kind was handed over; the question is made of rows and earlier notes."""
    return bool(case.input["steps"][_number(key)]["kwargs"].get("memory_context")) and got is None


@condition
def earlier_notes_are_those_of_live_summaries(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The earlier notes are the bodies of the live summaries; where no batch was committed before, there are none."""
    live = [row.message.text for row in _step(case, key).rows if row.is_summary]
    if _name(key) == "form":
        return bool(got == ("update" if live else "fresh"))
    return (got is None) == (not live) and all(piece in "".join(live) for piece in (got or "").split("\n\n"))


@condition
def summarizer_is_asked_unless_held_back(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The recorded batch skipped the call and wrote a text without a model; ours asks, or is held back and changes
    nothing."""
    step, recorded = _step(case, key), _recorded(case, key)
    is_skipped = recorded["llm_calls"] == 0 and recorded["state"]["fallback_used"]
    return is_skipped and (step.record is not None) == bool(step.values["llm_calls"])


# How it ended


@condition
def summary_without_gain_is_discarded(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The summary with its frame is not smaller than the few rows it would replace."""
    return _outcome(_step(case, key)) is Outcome.NO_GAIN and _is_left_alone(case, key)


@condition
def failed_batch_changes_nothing(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The summarizer failed far from the end of the window: nothing is written in its place."""
    step = _step(case, key)
    tokens, window = sum(row.tokens for row in step.rows), case.config["context_length"]
    is_far = tokens < window * _REPLACED_FROM
    return is_far and _outcome(step) is Outcome.ABORTED and _is_left_alone(case, key)


@condition
def batch_was_held_back(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A cool-down or a pause holds the batch back; the recorded one wrote a text without a model."""
    is_fallback = bool(_recorded(case, key)["state"]["fallback_used"])
    return is_fallback and _outcome(_step(case, key)) is None and _is_left_alone(case, key)


@condition
def nothing_lies_between_head_and_tail(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Head and tail are whole turns and leave nothing between them but, at most, a summary."""
    step = _step(case, key)
    return step.record is not None and step.has_zones_by_rule and not step.window.covered and step.values["unchanged"]


@condition
def an_earlier_batch_ended_otherwise(case: Case, key: str, expected: Any, got: Any) -> bool:
    """An earlier step was committed on one side only, so this one begins with other rows."""
    earlier = range(_number(key))
    ours, theirs = batch_steps(case), case.expected["steps"]
    return _is_by_rule(case, key) and any(ours[n].values["unchanged"] != theirs[n]["unchanged"] for n in earlier)


@condition
def summary_is_one_row_of_ours(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Both are committed: ours leaves head and tail as they are, with one row between them in our own structure."""
    step = _step(case, key)
    if step.record is None or not step.record.is_committed or not _is_by_rule(case, key):
        return False
    start, end = step.values["window"]
    kept = step.window.kept
    rows = (*step.rows[:start], *kept, *step.rows[end:])
    roles = _letters(step.rows[:start]) + "a" + _letters(kept) + _letters(step.rows[end:])
    has_rows = step.values["roles"] == roles and len(step.values["messages"]) == len(rows) + 1
    if _name(key) == "previous_summary":
        headings = [line[3:].partition(" (STALE")[0] for line in got.splitlines() if line.startswith("## ")]
        return has_rows and headings[:9] == [str(section) for section in Section][:9]
    return has_rows


@condition
def cool_down_follows_the_ladder(case: Case, key: str, expected: Any, got: Any) -> bool:
    """60, 300, then 900 seconds, whatever the failure was; counted down as time goes by."""
    steps = batch_steps(case)[: _number(key) + 1]
    failed = [n for n, step in enumerate(steps) if _outcome(step) is Outcome.ABORTED and step.values["llm_calls"]]
    wait = COOLDOWN_SECONDS[min(len(failed), len(COOLDOWN_SECONDS)) - 1] if failed else 0
    return bool(failed) and got == wait - (len(steps) - 1 - failed[-1])


@condition
def failure_has_a_name(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Both failed; ours says why by a name, or by the class of that name."""
    step = _step(case, key)
    failed = step.record is not None and step.record.outcome in (Outcome.ABORTED, Outcome.FALLBACK)
    return failed and isinstance(expected, str) and isinstance(got, str) and bool(got)


@condition
def other_sides_rows(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Whether there is a user's row is told of the live rows."""
    return bool(got == ("u" in _step(case, key).values["roles"]))
