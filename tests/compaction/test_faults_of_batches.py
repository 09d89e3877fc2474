"""Known faults of other programs, each with the input it was reported with: batches, prunes, and what is counted."""

from dataclasses import replace

import pytest

from compaction.batch import BatchReason
from compaction.batch_guard import BlockedBy
from compaction.config_yaml import read_config_yaml
from compaction.extractive import ExtractiveSummarizer
from compaction.main_model import read_main_model
from compaction.messages import Role
from compaction.micro import NothingReason
from compaction.pass_context import make_context
from compaction.passes import Nothing
from compaction.policy import CompactionPolicy
from compaction.prune import plan_prune, prune_rows
from compaction.records import Outcome
from compaction.summarizer import Reply
from compaction.telemetry import contradictions, log_lines
from compaction.threshold import occupancy_pct
from compaction.tokens import IMAGE_TOKENS, ROW_ENVELOPE_TOKENS, TiktokenCounter
from tests.compaction.faults import INPUTS, Session, rows_for
from tests.compaction.transcripts import COUNTER, assistant, chat, rows_of, system, user


def test_e06_arguments_json_or_not_are_never_shortened_by_a_prune():
    rows = (*rows_for("E06"), *rows_of(assistant("done")))
    zones = replace(Session(rows).tail_of(1).batch(Reply(error="timeout")).zones, head_end=None, tail_start=None)
    session = Session(rows, proactive_prune_tokens=1, proactive_prune_min_result_chars=200)
    pruned = prune_rows(rows, zones, COUNTER)
    assert all(one.original.role is Role.TOOL for one in pruned)
    plan_prune(session.live, session.state, session.context)
    arguments = [each.arguments for row in rows for each in row.message.tool_calls]
    assert max(map(len, arguments)) > 2_000
    assert [each.arguments for row in session.rows for each in row.message.tool_calls] == arguments


def test_e24_a_ratio_that_asks_for_everything_leaves_a_middle_and_what_finds_none_is_not_tried_again_at_once():
    config = read_config_yaml((INPUTS / "E24_ratio_makes_empty_middle.yaml").read_bytes())
    policy = replace(CompactionPolicy.from_mapping(config).policy, threshold_floor=False)
    context = make_context(policy, read_main_model(config["model"]).model.window, COUNTER)
    assert context.tail.ceiling_tokens <= 0.20 * 96_000
    session = Session(chat(200, 200))
    session.context = context
    assert session.live.live_tokens >= context.threshold_tokens
    assert session.batch(is_manual=False).outcome is Outcome.COMPACTED
    stuck = Session(rows_of(system(), user("q" * 160_000), assistant("a")))
    stuck.context = context
    first, *later = [stuck.batch(is_manual=False) for _ in range(5)]
    assert (first.outcome, first.reason) == (Outcome.ABORTED, BatchReason.NO_COMPRESSIBLE_WINDOW)
    assert {(record.outcome, record.reason) for record in later} == {(Outcome.BLOCKED, BlockedBy.STRUCTURAL)}


def test_e25_a_long_run_after_one_prompt_is_compacted_by_a_batch_and_micro_names_what_blocks_it():
    rows = rows_for("E25")
    session = Session(rows, protect_first_n=0, target_ratio=0.10)
    nothing = session.micro()
    assert isinstance(nothing, Nothing) and nothing.reason == NothingReason.NEWEST_TURN_EXCEEDS_TAIL
    record = session.batch(is_manual=False)
    assert record.outcome is Outcome.COMPACTED
    assert record.zones.tail_tokens <= session.context.tail.budget_tokens
    assert record.tokens_after < record.tokens_before / 2
    assert rows[1] in session.rows


def test_e46_a_request_survives_a_batch_wherever_it_stood():
    rows = rows_for("E25")
    session = Session(rows, protect_first_n=0, target_ratio=0.10)
    session.batch()
    assert any(message.role is Role.USER for message in session.view)
    opened = Session(rows_of(system(), assistant("hello, I begin"), *[assistant("more " * 50)] * 30)).tail_of(100)
    opened.batch()
    assert opened.view[1].role is Role.USER


@pytest.mark.parametrize("is_critical", [False, True])
def test_e37_an_extract_made_while_the_summarizer_is_down_does_not_repeat_the_newest_request(is_critical):
    turns = 60 if is_critical else 47
    session = Session([*chat(turns, 100)])
    request = "Please rename the module zebra_quark_engine now"
    session.append(user(request))

    def failing(plan):
        session.resort = ExtractiveSummarizer(COUNTER).ask(plan.request)
        return Reply(error="http_500")

    assert session.batch(failing, is_manual=False).outcome is Outcome.ABORTED
    if is_critical:
        assert session.batch(failing, is_manual=False, last_resort=session.resort).outcome is Outcome.FALLBACK
    assert "\n".join(message.text for message in session.view).count(request) == 1


def test_e41_after_a_batch_by_hand_the_next_check_counts_what_is_there_now():
    session = Session(chat(47, 100))
    assert session.batch(is_manual=True).outcome is Outcome.COMPACTED
    nothing = session.batch(is_manual=False)
    assert isinstance(nothing, Nothing) and nothing.reason == BatchReason.BELOW_THRESHOLD


# What is counted


@pytest.mark.parametrize("overhead_tokens", [0, 3_000])
def test_e15_before_and_after_are_counted_over_the_same_parts(overhead_tokens):
    session = Session(chat(20, 100), overhead_tokens=overhead_tokens).tail_is_newest_turn()
    failed = session.micro(Reply(error="timeout"))
    assert failed.tokens_before == failed.tokens_after == overhead_tokens + session.live.live_tokens
    record = session.micro()
    assert record.tokens_after == overhead_tokens + session.live.live_tokens
    assert contradictions(record) == ()


def test_e27_parallel_calls_cost_the_same_wherever_they_are_counted():
    rows = rows_for("E27")
    calls = next(row for row in rows if row.message.tool_calls)
    parts = sum(COUNTER.count(each.name) + COUNTER.count(each.arguments) for each in calls.message.tool_calls)
    assert calls.tokens == ROW_ENVELOPE_TOKENS + parts >= 50
    session = Session(rows).tail_of(40)
    record = session.batch(Reply(error="timeout"))
    zones = record.zones
    assert zones.head_tokens + zones.middle_tokens + zones.tail_tokens == sum(row.tokens for row in rows)
    assert session.live.live_tokens == record.tokens_before


def test_e29_every_script_is_estimated_within_a_factor_of_two_and_a_half_of_the_vocabulary():
    vocabulary = TiktokenCounter()
    for row in rows_for("E29")[1:]:
        counted, estimated = vocabulary.count(row.message.text), COUNTER.count(row.message.text)
        assert counted / 2.5 <= estimated <= counted * 2.5, row.message.text[:20]


def test_e30_a_picture_costs_one_price_in_a_part_and_in_a_text():
    for row in rows_for("E30"):
        assert row.tokens <= IMAGE_TOKENS + 100
    assert sum(row.tokens > IMAGE_TOKENS for row in rows_for("E30")) == 2


def test_e31_what_is_sent_beside_the_rows_fills_the_window_too():
    session = Session(rows_of(system(), user("hello"), assistant("hi")), window_tokens=40_000, overhead_tokens=34_000)
    assert session.context.threshold_tokens == 34_000
    nothing = session.micro()
    assert isinstance(nothing, Nothing)
    record = session.batch(is_manual=False)
    assert record.reason == BatchReason.NO_COMPRESSIBLE_WINDOW
    assert (record.fixed_overhead_tokens, record.tokens_before) == (34_000, 34_000 + session.live.live_tokens)
    assert occupancy_pct(record.tokens_before, record.threshold_tokens) == record.occupancy_pct > 100


def test_t06_the_record_its_log_line_and_the_rows_tell_the_same_figures():
    session = Session(chat(20, 100), overhead_tokens=500).tail_is_newest_turn()
    record = session.micro()
    line = log_lines(record, "s")[0].text
    assert f'"tokens_after":{500 + session.live.live_tokens}' in line
    assert f'"messages_after":{session.live.live_rows}' in line


def test_t07_a_batch_by_hand_that_changes_nothing_says_so_and_why():
    session = Session(rows_of(system(), user("hello"), assistant("hi")))
    record = session.batch(is_manual=True)
    assert not record.is_committed
    assert (record.outcome, record.reason) == (Outcome.ABORTED, BatchReason.NO_COMPRESSIBLE_WINDOW)
    assert record.tokens_after == record.tokens_before
