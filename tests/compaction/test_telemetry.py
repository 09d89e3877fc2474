"""The log lines of passes: full key sets, sums that come out, no content."""

import json
from dataclasses import replace

import pytest

from compaction.batch_telemetry import (
    BATCH_PREFIX,
    BatchAttempt,
    Trigger,
    batch_lines,
    batch_mapping,
    failure_class,
)
from compaction.budgets import TailBudget
from compaction.edits import Edit, NewRow
from compaction.messages import Message, Role, RowKey, RowKind
from compaction.records import Outcome, PassKind, PassRecord, Span
from compaction.summarizer import Purpose, Reply, SummaryRequest, Usage
from compaction.telemetry import MICRO_PREFIX, LogLevel, contradictions, log_lines, micro_figures
from compaction.zones import Zones

SECRET_TEXT = "the customer's card is 4111"
MICRO_KEYS = {
    "aux_model",
    "cache_break",
    "context_limit",
    "cursor",
    "duration_ms",
    "event",
    "exchange_tokens",
    "main_model",
    "messages_after",
    "messages_before",
    "occupancy_pct",
    "outcome",
    "passes_total",
    "rolling_summary_tokens",
    "session_id",
    "threshold_tokens",
    "tokens_after",
    "tokens_before",
    "tokens_delta",
    "tokens_saved_total",
}
ZONES = Zones(RowKey(3, 3), 4, 1_000, 20, 9_000, RowKey(24, 24), 13, 2_739, TailBudget(3_000, 4_500))
SUMMARY_ROW = NewRow(RowKind.MICRO_SUMMARY, 4, Message(Role.ASSISTANT, SECRET_TEXT), 700)
REQUEST = SummaryRequest(Purpose.ABSORB, "system", SECRET_TEXT, SECRET_TEXT, (Message(Role.USER, SECRET_TEXT),), 1_500)
ABSORBED = PassRecord(
    kind=PassKind.MICRO,
    outcome=Outcome.ABSORBED,
    zones=ZONES,
    exchanges=(Span(RowKey(4, 4), RowKey(5, 5), 2, 868),),
    cursor_before=RowKey(4, 4),
    cursor_after=RowKey(6, 6),
    request=REQUEST,
    reply=Reply(SECRET_TEXT, duration_ms=14),
    edit=Edit((4, 5), (), (SUMMARY_ROW,)),
    summary_before=SECRET_TEXT,
    summary_after=SECRET_TEXT * 10,
    rolling_summary_tokens=31,
    exchange_tokens=868,
    tokens_before=12_739,
    tokens_after=12_060,
    rows_before=37,
    rows_after=36,
    threshold_tokens=34_816,
    context_limit_tokens=40_960,
    main_model="m/模型",
    duration_ms=14,
    passes_total=1,
    tokens_saved_total=679,
    cache_break_tokens=11_000,
)
UNCHANGED = replace(ABSORBED, edit=Edit(), tokens_after=12_739, rows_after=37, cache_break_tokens=None)
MICRO_RECORDS = (
    ABSORBED,
    replace(UNCHANGED, outcome=Outcome.SUMMARIZE_FAILED, reason="timeout"),
    replace(UNCHANGED, outcome=Outcome.EXCHANGE_SKIPPED, reason="timeout"),
    replace(UNCHANGED, outcome=Outcome.STALE, exchange_tokens=None, exchanges=(), duration_ms=None),
    replace(UNCHANGED, kind=PassKind.DEFRAG, outcome=Outcome.DEFRAG_FAILED, reason="empty", exchange_tokens=None),
    replace(UNCHANGED, kind=PassKind.DEFRAG, outcome=Outcome.DEFRAG_NO_GAIN, exchange_tokens=None),
)
ATTEMPT = BatchAttempt("a1", Trigger.AUTO, "o200k_base", aux_window_tokens=100_000)


def fields(line: str, prefix: str = MICRO_PREFIX) -> dict:
    assert line.startswith(prefix)
    return json.loads(line.removeprefix(prefix))


def texts(record) -> list[str]:
    return [line.text for line in log_lines(record, "s1")]


def batch_record(outcome, **more):
    return replace(UNCHANGED, kind=PassKind.BATCH, outcome=outcome, exchange_tokens=None, exchanges=(), **more)


def test_the_line_of_a_pass_carries_its_figures_as_compact_ascii_json_with_sorted_keys():
    line = texts(ABSORBED)[0]
    found = fields(line)
    assert line.isascii() and ", " not in line
    assert list(found) == sorted(found)
    assert found["tokens_delta"] == -679
    assert found["occupancy_pct"] == 34.6
    assert found["cursor"] == 6
    assert found["main_model"] == "m/模型"


@pytest.mark.parametrize("record", MICRO_RECORDS, ids=lambda record: record.outcome)
def test_t04_every_outcome_has_the_full_set_of_keys(record):
    found = fields(texts(record)[0])
    assert set(found) == MICRO_KEYS
    may_be_null = {"cache_break", "cursor", "duration_ms", "exchange_tokens"}
    assert {key for key, value in found.items() if value is None} <= may_be_null


@pytest.mark.parametrize("record", MICRO_RECORDS, ids=lambda record: record.outcome)
def test_t11_every_attempt_has_exactly_one_line_of_json(record):
    assert sum(text.startswith(MICRO_PREFIX) for text in texts(record)) == 1


def test_a_turn_with_nothing_to_do_logs_no_line():
    assert log_lines(replace(UNCHANGED, outcome=Outcome.NOTHING, kind=PassKind.NOTHING), "s1") == ()


def test_an_unknown_window_is_null_and_never_zero():
    found = fields(texts(replace(ABSORBED, threshold_tokens=None, context_limit_tokens=None))[0])
    assert found["threshold_tokens"] is None
    assert found["context_limit"] is None
    assert found["occupancy_pct"] is None


@pytest.mark.parametrize("record", MICRO_RECORDS, ids=lambda record: record.outcome)
def test_t10_the_sums_of_a_sound_record_come_out(record):
    assert contradictions(record) == ()
    found = fields(texts(record)[0])
    assert found["tokens_before"] + found["tokens_delta"] == found["tokens_after"]


@pytest.mark.parametrize(
    "broken",
    [
        replace(ABSORBED, zones=replace(ZONES, middle_tokens=100_000)),
        replace(ABSORBED, zones=replace(ZONES, tail_rows=5)),
        replace(ABSORBED, rows_after=40),
        replace(ABSORBED, exchange_tokens=5),
        replace(UNCHANGED, outcome=Outcome.SUMMARIZE_FAILED, tokens_after=9),
    ],
    ids=["zones", "zone rows", "rows", "exchange", "unchanged"],
)
def test_t10_figures_that_contradict_each_other_are_left_unknown_with_a_warning(broken):
    lines = log_lines(broken, "s1")
    found = fields(lines[0].text)
    assert set(found) == MICRO_KEYS
    assert [found[key] for key in ("tokens_after", "tokens_delta", "occupancy_pct", "messages_after")] == [None] * 4
    assert [line.level for line in lines].count(LogLevel.WARNING) == 1
    assert "is not" in lines[-1].text


@pytest.mark.parametrize("record", MICRO_RECORDS, ids=lambda record: record.outcome)
def test_no_line_carries_content(record):
    shown = "\n".join(texts(record))
    assert SECRET_TEXT not in shown and "4111" not in shown


def test_lines_for_people():
    assert "Micro-compaction: 37 -> 36 messages" in texts(ABSORBED)
    skipped = replace(UNCHANGED, outcome=Outcome.EXCHANGE_SKIPPED, reason="timeout", cursor_before=RowKey(12, 12))
    assert "Micro-compaction: skipping exchange at cursor 12 after 3 consecutive failures" in texts(skipped)
    assert "micro-summarization call failed: timeout" in texts(skipped)
    unasked = replace(skipped, reply=None, reason="aux_window_too_small")
    assert "Micro-compaction: skipping exchange at cursor 12 (aux_window_too_small)" in texts(unasked)
    defrag = replace(ABSORBED, outcome=Outcome.DEFRAG, exchange_tokens=None, summary_after="x" * 1843)
    assert "Micro-compaction defrag: rolling summary re-summarized (1843 chars)" in texts(defrag)


def test_a_pass_that_leaves_the_number_of_rows_says_nothing_about_it():
    same = replace(ABSORBED, edit=Edit((4,), (), (SUMMARY_ROW,)), rows_after=37)
    assert len(log_lines(same, "s1")) == 1


def test_the_fields_for_a_store_are_those_of_the_line():
    figures = micro_figures(ABSORBED, "s1")
    assert fields(figures.line) == figures.to_mapping()


def test_a_prune_has_a_line_of_its_own():
    stub = NewRow(RowKind.PRUNE_STUB, 4, Message(Role.TOOL, "[short]"), 20, replaces=4)
    record = replace(ABSORBED, kind=PassKind.PRUNE, outcome=Outcome.PRUNED, edit=Edit((4,), (), (stub,)), rows_after=37)
    (line,) = texts(record)
    assert fields(line, "prune telemetry: ")["results_pruned"] == 1


@pytest.mark.parametrize(
    ("record", "status", "keys"),
    [
        (batch_record(Outcome.COMPACTED, edit=ABSORBED.edit, tokens_after=4_000, rows_after=36), "committed", 52),
        (batch_record(Outcome.FALLBACK, edit=ABSORBED.edit, tokens_after=4_000, rows_after=36), "committed", 52),
        (batch_record(Outcome.NO_GAIN), "aborted", 47),
        (batch_record(Outcome.ABORTED, reason="http_503"), "aborted", 47),
        (batch_record(Outcome.BLOCKED, reason="cooldown"), "blocked", 17),
    ],
    ids=["compacted", "fallback", "no gain", "aborted", "blocked"],
)
def test_t04_every_end_of_a_batch_attempt_has_its_fixed_set_of_keys(record, status, keys):
    (line,) = batch_lines(record, "s1", ATTEMPT)
    found = fields(line.text, BATCH_PREFIX)
    assert found["commit_status"] == status
    assert len(found) == keys
    assert SECRET_TEXT not in line.text
    assert found == batch_mapping(record, "s1", ATTEMPT)


def test_a_batch_line_says_what_the_summarizer_was_given_and_what_came_of_it():
    record = batch_record(
        Outcome.COMPACTED,
        edit=ABSORBED.edit,
        tokens_after=4_000,
        rows_after=36,
        request=replace(REQUEST, focus="the bill", max_output_tokens=2_000),
        reply=Reply("text", usage=Usage(input_tokens=30_000)),
    )
    found = batch_mapping(record, "s1", ATTEMPT)
    assert found["tokens_reclaimed"] == 8_739
    assert found["fit_margin"] == 68_000
    assert found["has_focus_topic"] is True
    assert (found["method"], found["failure_class"]) == ("llm_summary", None)
    assert found["split_status"] == "in_place_committed"
    assert found["protected_head_tokens"] + found["middle_window_tokens"] + found["protected_tail_tokens"] == 12_739


@pytest.mark.parametrize(
    ("outcome", "reason", "expected"),
    [
        (Outcome.ABORTED, "http_401", "summary_auth_failure"),
        (Outcome.ABORTED, "timeout", "summary_network_failure"),
        (Outcome.ABORTED, "length", "summary_truncated_failure"),
        (Outcome.ABORTED, "refusal", "summary_empty_content_failure"),
        (Outcome.ABORTED, "http_529", "summary_overload_failure"),
        (Outcome.ABORTED, "something_else", "summary_generation_failed"),
        (Outcome.NOTHING, "no_compressible_window", "no_compressible_window"),
        (Outcome.BLOCKED, "ineffective", "blocked:ineffective"),
        (Outcome.NO_GAIN, "not_smaller", "no_gain"),
    ],
)
def test_what_went_wrong_with_a_batch_has_a_class(outcome, reason, expected):
    assert failure_class(batch_record(outcome, reason=reason)) == expected


def test_t10_a_batch_line_with_contradicting_figures_leaves_them_unknown():
    record = batch_record(Outcome.COMPACTED, edit=ABSORBED.edit, tokens_after=4_000, rows_after=99)
    lines = batch_lines(record, "s1", ATTEMPT)
    assert fields(lines[0].text, BATCH_PREFIX)["tokens_reclaimed"] is None
    assert lines[1].level is LogLevel.WARNING
