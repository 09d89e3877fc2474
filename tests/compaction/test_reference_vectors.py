"""Recorded behaviour of another implementation, case by case: each agrees, or a named rule of ours explains why not.

The files are looked for under the folder in REFERENCE_VECTORS, else among the project's own test data; a file may be
absent. A case is covered only where a deviation's condition holds for it, never by its name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from tests.compaction.reference_vectors import (
    batch_runner,
    firing_runner,
    micro_runner,
    prune_runner,
    redaction_runner,
    report_runner,
    settings_runners,
    store_runner,
    telemetry_runner,
    transcript_runners,
)
from tests.compaction.reference_vectors.cases import (
    OWN_FOLDER,
    Case,
    Difference,
    differences,
    load_cases,
    vectors_folder,
)
from tests.compaction.reference_vectors.deviations import Deviation, load_deviations
from tests.compaction.reference_vectors.transcript_runners import shown

# File and area of a case -> what the engine gives for it.
RUNNERS: Mapping[tuple[str, str], Callable[[Case], dict[str, Any]]] = {
    ("boundaries", ""): transcript_runners.run_boundaries,
    ("exchange_selection", ""): transcript_runners.run_exchange_selection,
    ("tool_pairs", ""): transcript_runners.run_tool_pairs,
    ("micro_pass", ""): micro_runner.run_micro_pass,
    ("threshold", "derive"): settings_runners.run_threshold,
    ("threshold", "firing"): firing_runner.run_firing,
    ("tool_prune", "summarize"): prune_runner.run_summarize,
    ("tool_prune", "prune"): prune_runner.run_prune,
    ("tool_prune", "proactive"): prune_runner.run_proactive,
    ("db_semantics", "db"): store_runner.run_store,
    ("config", "config"): settings_runners.run_config,
    ("report", ""): report_runner.run_report,
    ("telemetry", "micro_emitter"): telemetry_runner.run_micro_emitter,
    ("telemetry", "line"): telemetry_runner.run_line,
    ("telemetry", "human"): telemetry_runner.run_human,
    ("batch_compress", "compress"): batch_runner.run_compress,
    ("batch_compress", "budget"): settings_runners.run_summary_budget,
    ("batch_compress", "serialise"): transcript_runners.run_serialise,
    ("batch_compress", "bound"): transcript_runners.run_bound,
    ("batch_compress", "sample"): transcript_runners.run_sample,
    ("batch_compress", "redact"): redaction_runner.run_redact,
}
FILES = sorted({file for file, _ in RUNNERS})
DEVIATIONS = load_deviations()


CASES = [case for file in FILES for case in load_cases(vectors_folder(), file)]


@cache
def differences_of(file: str, case_id: str) -> tuple[Difference, ...]:
    case = next(case for case in CASES if (case.file, case.id) == (file, case_id))
    return tuple(differences(case.expected, RUNNERS[case.file, case.area](case)))


def covered(case: Case, found: Iterable[Difference], entries: Iterable[Deviation]) -> Iterator[Difference]:
    """The differences that one of `entries` explains."""
    entries = tuple(entries)
    return (difference for difference in found if any(entry.covers(case, difference) for entry in entries))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_recorded_case_agrees_or_a_rule_explains_the_difference(case):
    found = differences_of(case.file, case.id)
    explained = set(map(id, covered(case, found, DEVIATIONS)))
    unexplained = [
        f"{difference.key}: expected {shown(difference.expected)}, got {shown(difference.got)}"
        for difference in found
        if id(difference) not in explained
    ]
    assert not unexplained, f"{case.id} ({case.what}):\n" + "\n".join(unexplained)


@pytest.mark.parametrize("entry", DEVIATIONS, ids=lambda entry: entry.name)
def test_no_deviation_is_stale(entry):
    concerned = [case for case in CASES if entry.concerns(case)]
    is_needed = any(any(covered(case, differences_of(case.file, case.id), [entry])) for case in concerned)
    # Another folder may hold too few cases to need every entry; the project's own has one for each.
    is_own = vectors_folder() == OWN_FOLDER / "vectors"
    assert is_needed or not (concerned and is_own), f"no case needs {entry.name!r} any more: take it out"


def test_every_file_in_the_folder_is_run():
    assert {path.stem for path in vectors_folder().glob("*.json")} <= {*FILES, "constants", "deviations"}
    assert {(case.file, case.area) for case in CASES} <= set(RUNNERS)


def test_every_rule_that_is_named_exists():
    assert all(int(entry.rule.partition(".")[0]) in range(1, 15) for entry in DEVIATIONS)


# Keys that have to agree nearly everywhere, whatever else may differ by rule.
FIRM_KEYS = {
    "thresholds": {("threshold", "derive"): {"*"}},
    "settings": {("config", "config"): {"*"}},
    "lines of tool results": {("tool_prune", "summarize"): {"*"}},
    "prunes": {("tool_prune", "prune"): {"tool_call_args_len", "message_count"}},
    "exchanges": {("exchange_selection", ""): {"resolved_cursor", "exchange"}},
    "estimates, heads, budgets, texts, lines": {
        ("boundaries", ""): {"tokens", "tail_token_budget", "soft_ceiling"},
        ("batch_compress", "budget"): {"*"},
        ("batch_compress", "serialise"): {"*"},
        ("batch_compress", "redact"): {"*"},
        ("telemetry", "micro_emitter"): {"*"},
        ("telemetry", "line"): {"*"},
    },
}


@pytest.mark.parametrize("part", FIRM_KEYS)
def test_what_no_rule_changes_agrees_in_at_least_95_of_100_values(part):
    keys_of = FIRM_KEYS[part]
    cases = [case for case in CASES if (case.file, case.area) in keys_of]
    compared = differing = 0
    for case in cases:
        keys = keys_of[case.file, case.area]
        compared += len(flat(case.expected, keys))
        found = differences_of(case.file, case.id)
        differing += sum("*" in keys or difference.key in keys for difference in found)
    assert differing <= 0.05 * compared, f"{differing} of {compared} values differ"


def flat(expected: Any, keys: set[str], key: str = "") -> list[str]:
    """The keys of a case that are compared."""
    if isinstance(expected, dict) and expected:
        return [found for name, inner in expected.items() for found in flat(inner, keys, f"{key}.{name}".lstrip("."))]
    return [key] if "*" in keys or key in keys else []


def test_a_difference_that_no_rule_explains_is_found():
    case = next(iter(CASES), None) or Case("config", "none", "", {}, {}, {})
    made_up = Difference("made_up_key", 1, 2)
    assert list(covered(case, [made_up], [entry for entry in DEVIATIONS if "*" not in entry.keys])) == []
