"""Conditions of deviations: what must be true of a case for a rule of ours to explain a difference.

Each takes the case, the key, the recorded value and ours. Where a rule can be worked out in a few lines, the condition
works it out (in `rules`) and demands that ours is exactly that.
"""

from __future__ import annotations

import re
from typing import Any

from compaction.budgets import TailBudget
from compaction.messages import RowKind
from compaction.model_view import Profile
from compaction.policy import CompactionPolicy
from compaction.provider_rules import violations
from compaction.redaction import MASK
from tests.compaction.reference_vectors import rules
from tests.compaction.reference_vectors.cases import LONGEST_SENTENCE, MISSING, Case
from tests.compaction.reference_vectors.condition_names import condition
from tests.compaction.reference_vectors.settings_runners import run_config
from tests.compaction.reference_vectors.transcript_runners import (
    budget_of,
    kind_of,
    policy_of,
    read_message,
    rows_of,
    run_sample,
    view_of,
)

RATIO_BOUNDS = {"threshold": (0.05, 1.0), "target_ratio": (0.10, 0.80)}


# Settings


@condition
def ratio_is_out_of_range(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A ratio is beyond its bounds: it is clamped where it is read, so that what is shown is what is used."""
    if case.file == "threshold":
        return not 0.05 <= float(case.config.get("threshold_percent", 0.5)) <= 1
    given, lowest, highest = case.input["compression"][key], *RATIO_BOUNDS[key]
    if isinstance(given, bool):
        return bool(got == getattr(CompactionPolicy(), key))
    return not lowest <= float(given) <= highest and got == min(max(float(given), lowest), highest)


@condition
def value_is_of_the_wrong_type(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A switch or a fraction stands where a whole number belongs: an error, and the default."""
    (given,) = case.input["compression"].values()
    is_wrong = isinstance(given, bool) or (isinstance(given, float) and given != int(given))
    return is_wrong and got == run_config(Case("", "", "", {}, {"compression": {}}, {}))[key]


@condition
def summary_would_exceed_half(case: Case, key: str, expected: Any, got: Any) -> bool:
    """So little is summarised that the floor would be more than half of it."""
    return got == case.expected["content_tokens"] // 2 < 2_000


# Token costs


@condition
def one_counter_only(case: Case, key: str, expected: Any, got: Any) -> bool:
    """There is no second estimate by the printed form of a message."""
    return got == MISSING


@condition
def calls_are_counted_by_name_and_arguments(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The row has calls, or the transcript rows with calls, and only these cost less than their printed envelopes."""
    if key == "row_tokens":
        raws = case.input["messages"]
        return all(
            ours == theirs or (raw.get("tool_calls") and ours < theirs)
            for raw, ours, theirs in zip(raws, got, expected, strict=True)
        )
    return bool(case.input["messages"][0].get("tool_calls")) and got < expected


@condition
def parts_are_rounded_one_by_one(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Parts and reasoning are counted like any text, each for itself; the recorded count divides and rounds down."""
    message = case.input["messages"][0]
    return got >= expected and (isinstance(message.get("content"), list) or bool(message.get("reasoning")))


# Zones


@condition
def head_never_decays(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Something was compacted before, and the head is as large as at the beginning."""
    was_compacted = bool(case.input["state"]) or any(map(_is_summary, case.input["messages"]))
    return was_compacted and got == rules.opening_rows(case.input["messages"], policy_of(case).protect_first_n)


@condition
def head_ends_with_its_turn(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The head is extended to the end of the turn it lands in."""
    rows = rows_of(case.input["messages"])
    opening = rules.opening_rows(case.input["messages"], policy_of(case).protect_first_n)
    return got == rules.head_end(rows, opening)


@condition
def place_is_an_edge_already(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Behind a complete group of call and results is an edge; nothing has to move."""
    messages = case.input["messages"]
    index = case.input["index"]
    return got == index < len(messages) and messages[index]["role"] != "tool"


@condition
def tail_follows_its_budget(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The tail is made of whole turns within the budget, the last one completed up to the ceiling, without a floor of
    rows and without a forced middle."""
    rows, wanted = rows_of(case.input["messages"]), policy_of(case).min_tail_user_messages
    return got == rules.tail_start(rows, case.input["head_end"], budget_of(case), wanted)


@condition
def newest_turn_exceeds_the_ceiling(case: Case, key: str, expected: Any, got: Any) -> bool:
    """No turn fits whole: a micro pass waits, a batch cuts at the oldest complete edge within the budget."""
    rows = rows_of(case.input["messages"])
    budget: TailBudget = budget_of(case)
    if rules.tail_start(rows, case.input["head_end"], budget, 1) is not None:
        return False
    if not case.config.get("allow_split_turn"):
        return got is None
    return bool(got == rules.edge_within(rows, case.input["head_end"], budget.budget_tokens))


@condition
def middle_lies_between_head_and_tail(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Both ends are whole turns, and there is a middle only where something is left between."""
    rows, policy = rows_of(case.input["messages"]), policy_of(case)
    start = rules.head_end(rows, rules.opening_rows(case.input["messages"], policy.protect_first_n))
    end = rules.tail_start(rows, start, budget_of(case), policy.min_tail_user_messages)
    if end is None:
        end = rules.edge_within(rows, start, budget_of(case).budget_tokens)
    by_rule = {"compress_start": start, "compress_end": end, "has_content_to_compress": start < end}
    return bool(got == by_rule[key])


# Exchanges


@condition
def summary_of_a_batch_is_left_alone(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A summary in the window is a batch's: micro passes neither take over its text nor its place."""
    return any(kind_of(raw) is RowKind.BATCH_SUMMARY for raw in case.input["messages"]) and not got


@condition
def live_summary_is_the_running_one(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The running summary is the one live micro summary, wherever it stands and wherever the cursor is."""
    texts = [raw["content"] for raw in case.input["messages"] if raw.get("_micro_compact_marker")]
    return len(texts) == 1 and not expected and bool(got) and got in texts[0]


# Serialising


@condition
def long_text_has_our_own_mark(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Some content is cut in the middle, around a mark in our own words."""
    is_long = any(len(str(raw.get("content") or "")) > 6_000 for raw in case.input["messages"])
    return is_long and abs(got - expected) <= LONGEST_SENTENCE


@condition
def untyped_text_is_a_text_part(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A part without a type that holds a text is read as text."""
    parts = [part for raw in case.input["messages"] if isinstance(raw["content"], list) for part in raw["content"]]
    return any(isinstance(part, dict) and "type" not in part and "text" in part for part in parts)


@condition
def bounded_text_has_our_own_mark(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The text is cut to the same cap with the same shares, around a mark of another length."""
    return bool(case.expected["truncated"]) and abs(got - expected) <= LONGEST_SENTENCE


@condition
def oldest_and_newest_records_are_kept(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The records are more than the cap: what is left are the oldest and the newest of them, around one gap."""
    ours = run_sample(case)
    seen = ours["records_shown"]
    first, last = (seen["first"], seen["last"]) if isinstance(seen, dict) else (seen[:1], seen[-1:])
    has_ends = first[0] == 0 and last[-1] == case.input["records"]["count"] - 1
    return ours["coverage"]["input_chars"] > 160_000 >= ours["len"] and has_ends


# Redaction


@condition
def assignment_stands_in_prose(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A secret-like name is given a value in the middle of a sentence; the recorded text leaves it."""
    named = re.search(r"\w+ \w*(?:password|passwd|secret|token|api_?key)\w*\s*[=:]\s*(\S+)", case.input["text"], re.I)
    return named is not None and named[1] in expected and got == case.input["text"].replace(named[1], MASK)


# Tool pairs


def _view_is_valid(case: Case) -> bool:
    return not violations(view_of(case).messages, Profile.FREE)


def _is_summary(raw: dict[str, Any]) -> bool:
    return kind_of(raw) is not RowKind.MESSAGE


@condition
def message_without_content_is_left_out(case: Case, key: str, expected: Any, got: Any) -> bool:
    """An assistant message is empty, or is once its unanswered calls are gone."""
    raws = case.input["messages"]
    empty = [n for n, raw in enumerate(raws) if raw["role"] == "assistant" and not read_message(raw).has_content]
    dropped = {n for n in range(len(raws)) if n not in view_of(case).row_ids}
    return bool(dropped & set(empty)) and _view_is_valid(case)


@condition
def agent_spoke_first(case: Case, key: str, expected: Any, got: Any) -> bool:
    """No user's message stands first behind the system prompt, so one is put there."""
    raws = [raw for raw in case.input["messages"] if raw["role"] != "system"]
    return raws[0]["role"] != "user" and _view_is_valid(case)


@condition
def result_has_no_call_in_its_round(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A result names no call, one that was answered already, or one the agent has gone on without."""
    dropped = [n for n, raw in enumerate(case.input["messages"]) if n not in view_of(case).row_ids]
    return any(case.input["messages"][n]["role"] == "tool" for n in dropped) and _view_is_valid(case)


# Report


def _no_pass_in_readable_logs(case: Case) -> bool:
    files = case.input.get("files") or {}
    return bool(files) and not case.config["default_log_used"] and case.expected["figures"] is None


@condition
def empty_log_is_no_error(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A log was read and holds no pass."""
    return _no_pass_in_readable_logs(case) and got == 0


@condition
def recorded_script_crashes(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The recorded script crashes on a line; ours counts it as unreadable, or takes what it can, and goes on."""
    return bool(case.expected.get("error")) and (key != "error" or got is False)


@condition
def layout_is_our_own(case: Case, key: str, expected: Any, got: Any) -> bool:
    """How many lines the text has says nothing about the figures in it."""
    return isinstance(got, int)


@condition
def default_log_is_ours(case: Case, key: str, expected: Any, got: Any) -> bool:
    """No log is named: the recorded script looks in another program's folder."""
    return bool(case.config.get("default_log_used"))


@condition
def some_batch_was_not_committed(case: Case, key: str, expected: Any, got: Any) -> bool:
    """Only committed batches count as compactions; attempts are told apart."""
    lines = rules.log_lines_of(case)
    statuses = [rules.commit_status(line) for line in lines if rules.BATCH_MARK in line]
    committed = statuses.count("committed")
    if len(statuses) == committed:
        return False
    passes = sum(rules.MICRO_MARK in line for line in lines)
    by_rule = {
        "figures.batch_compactions": f"{committed:,}",
        "figures.micro_passes_each": f"{passes / committed:.1f}" if committed else None,
        "figures.none_fired_note": not committed,
    }
    return got == by_rule.get(key, MISSING) or key.startswith("figures.per_session_rows")


# Telemetry


@condition
def figure_is_known_here(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The recorded line leaves a figure open that we know when the line is written."""
    return expected in (None, "NoneType") and got not in (None, "NoneType")


@condition
def one_figure_for_all(case: Case, key: str, expected: Any, got: Any) -> bool:
    """What fires a compaction is counted as what it reports: the same tokens."""
    return got == case.expected["values"].get("tokens_before")


@condition
def sessions_never_rotate(case: Case, key: str, expected: Any, got: Any) -> bool:
    """A compacted session keeps its id, so a commit is always in place."""
    return expected == "rotated_committed" and got == "in_place_committed"


@condition
def prune_is_told_by_its_stubs(case: Case, key: str, expected: Any, got: Any) -> bool:
    """The number of shortened results is the number of stubs a pass brings in; the replayed facts hold none."""
    return isinstance(expected, int) and got == 0
