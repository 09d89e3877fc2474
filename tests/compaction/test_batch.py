"""Batch compaction (ENGINE 8): what it takes, what stays, when it may run, how it fails."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.batch import BatchPlan, BatchReason, plan_batch, settle_batch
from compaction.batch_guard import MOST_COMMITS, PAUSE_SECONDS, BlockedBy
from compaction.edits import apply_edit
from compaction.extractive import ExtractiveSummarizer
from compaction.live_rows import LiveRows
from compaction.messages import Role, RowKind
from compaction.micro import plan_micro, settle_micro
from compaction.model_view import model_view
from compaction.pass_context import make_context
from compaction.passes import Nothing
from compaction.policy import CompactionPolicy
from compaction.provider_rules import violations
from compaction.records import Outcome
from compaction.sections import Section, parse_sections
from compaction.state import CompactionState
from compaction.summarizer import Reply
from compaction.threshold import Window
from tests.compaction.transcripts import COUNTER, assistant, call, chat, result, rows_of, system, transcripts, user

GOOD = "## Completed Actions\n1. read everything\n\n## Key Decisions\n- keep sqlite"


class Session:
    """A transcript under batches, with a clock that the test moves."""

    def __init__(self, rows, window_tokens=8_000, **settings):
        self.live = LiveRows(10_000)
        for row in rows:
            self.live.insert(row)
        self.state = CompactionState()
        policy = CompactionPolicy(micro_compact=True, **settings)
        self.context = make_context(policy, Window(window_tokens), COUNTER)
        self.now = 1_000.0
        self.grown = 0

    def plan(self, **options):
        return plan_batch(self.live, self.state, self.context, now=self.now, **options)

    def run(self, reply=None, last_resort=None, **options):
        return self.settle(self.plan(**options), reply, last_resort)

    def settle(self, plan, reply=None, last_resort=None):
        if isinstance(plan, Nothing):
            return plan
        if isinstance(plan, BatchPlan):
            plan = settle_batch(plan, reply or Reply(text=GOOD, finish_reason="stop"), last_resort)
        self.state = plan.state
        self.live.apply(plan.record.edit)
        return plan.record

    def micro(self):
        plan = plan_micro(self.live, self.state, self.context)
        settled = settle_micro(plan, Reply(text="## Key Decisions\n- rolling", finish_reason="stop"))
        self.state = settled.state
        self.live.apply(settled.record.edit)

    def grow(self, rows):
        for row in rows:
            self.grown += 1
            self.live.insert(replace(row, id=50_000 + self.grown, position=50_000 + self.grown))

    def rows(self):
        return tuple(self.live.forward())


def full(turns=47, words=100):
    """Between the threshold of 6,800 and the 7,600 from which on the window of 8,000 is nearly full."""
    return chat(turns, words)


def fat_reply(plan):
    """An answer that makes a summary hardly smaller than what it replaces."""
    lines = (plan.window.tokens - 900) * 4 // len("- word word word\n")
    return Reply(text="## Key Decisions\n" + "- word word word\n" * lines, finish_reason="stop")


def test_a_batch_runs_only_at_the_threshold_unless_asked_for_by_hand():
    session = Session(chat(20, 100))
    assert session.run().reason == BatchReason.BELOW_THRESHOLD
    assert session.run(is_manual=True).outcome == Outcome.COMPACTED


def test_it_replaces_the_middle_by_one_summary_row_between_head_and_tail():
    rows = full()
    session = Session(rows)
    record = session.run()
    assert record.outcome == Outcome.COMPACTED
    live = session.rows()
    place = next(n for n, row in enumerate(live) if row.is_summary)
    assert [row.id for row in live[:place]] == [0, 1, 2, 3, 4]
    assert live[place].kind is RowKind.BATCH_SUMMARY
    assert live[place + 1].opens_turn
    assert record.tokens_after == session.live.live_tokens < record.tokens_before


def test_the_user_rows_of_the_middle_go_too_and_are_counted():
    session = Session(full())
    record = session.run()
    gone = [row for row in full() if row.id in record.edit.archived and row.is_user]
    assert f"user rows archived: {len(gone)}" in record.notes


def test_live_summaries_become_the_earlier_notes_and_are_superseded():
    session = Session(full())
    for _ in range(3):
        session.micro()
    plan = session.plan()
    assert "- rolling" in plan.request.user
    record = session.run()
    assert len(record.edit.superseded) == 1
    assert [row.kind for row in session.rows() if row.is_summary] == [RowKind.BATCH_SUMMARY]
    assert (session.state.cursor, session.state.rolling_summary) == (None, "")
    assert session.state.passes_total == 4


def test_a_second_batch_updates_the_first_and_covers_only_what_is_new():
    session = Session(full())
    session.run()
    session.grow(chat(45, 100, with_system=False))
    session.now += 1_000
    plan = session.plan()
    assert "keep sqlite" in plan.earlier
    assert all(not row.is_summary for row in plan.window.covered)
    assert session.run().outcome == Outcome.COMPACTED
    assert sum(row.is_summary for row in session.rows()) == 1


def one_long_turn(rounds=300):
    messages = [system(), user("hello"), assistant("hi"), user("do it all")]
    for n in range(rounds):
        messages += [assistant("", call(f"r{n}")), result(f"r{n}", "output " * 20)]
    return messages


def test_one_prompt_with_hundreds_of_rounds_is_cut_at_an_edge_and_keeps_its_request():
    session = Session(rows_of(*one_long_turn()))
    record = session.run()
    assert record.outcome == Outcome.COMPACTED
    live = session.rows()
    assert 3 in [row.id for row in live]
    assert sum(row.is_summary for row in live) == 1
    assert record.zones.tail_tokens <= session.context.tail.budget_tokens
    assert violations(model_view(live).messages) == ()


def test_calls_that_still_wait_are_never_touched():
    messages = [*one_long_turn(), assistant("", call("open-1"), call("open-2")), result("open-1", "half")]
    session = Session(rows_of(*messages))
    record = session.run()
    assert not {len(messages) - 1, len(messages) - 2} & set(record.edit.archived)


def test_a_call_in_the_middle_stays_live_when_its_result_is_in_the_tail():
    messages = [row.message for row in full(20)]
    messages += [user("start it"), assistant("", call("slow"), call("fast")), result("fast")]
    messages += [user("and meanwhile?"), assistant("", call("3")), result("3"), result("slow", "word " * 900)]
    messages += [assistant("both done " + "word " * 200)]
    rows = rows_of(*messages)
    session = Session(rows)
    session.run(is_manual=True)
    live = session.rows()
    asked = {row.id for row in rows if len(row.message.tool_calls) > 1}
    round_ids = asked | {row.id for row in rows if row.message.tool_call_id in ("slow", "fast")}
    assert round_ids <= {row.id for row in live}
    assert not any("dropped" in repair.kind for repair in model_view(live).repairs)


def test_near_the_end_of_the_window_a_summarizer_that_cools_down_is_not_asked():
    session = Session(full(60))
    session.run(Reply(error="http_503"))
    plan = session.plan()
    assert (plan.is_critical, plan.question) == (True, None)
    resort = ExtractiveSummarizer(COUNTER).ask(plan.request)
    record = session.run(last_resort=resort)
    assert (record.outcome, record.reason) == (Outcome.FALLBACK, BlockedBy.COOLDOWN)


def test_when_nothing_can_be_cut_the_reason_is_told_and_not_tried_again_at_once():
    rows = rows_of(system(), user("q" * 40_000), assistant("a"))
    session = Session(rows)
    first = session.run()
    assert (first.outcome, first.reason) == (Outcome.ABORTED, BatchReason.NO_COMPRESSIBLE_WINDOW)
    session.context = replace(session.context, context_limit_tokens=100_000)
    assert session.run().reason == BlockedBy.STRUCTURAL
    session.now += PAUSE_SECONDS
    assert session.run().reason == BatchReason.NO_COMPRESSIBLE_WINDOW


def test_a_failed_batch_changes_no_row_and_cools_down_longer_each_time():
    session = Session(full())
    before = session.rows()
    waits = []
    for _ in range(4):
        record = session.run(Reply(error="http_503"))
        assert (record.outcome, record.reason) == (Outcome.ABORTED, "http_503")
        assert session.rows() == before
        waits.append(session.state.cooldown_until - session.now)
        assert session.run().reason == BlockedBy.COOLDOWN
        session.now = session.state.cooldown_until
    assert waits == [60, 300, 900, 900]
    assert session.run().outcome == Outcome.COMPACTED


def test_by_hand_it_runs_in_spite_of_a_cool_down():
    session = Session(full())
    session.run(Reply(error="timeout"))
    assert session.run(is_manual=True).outcome == Outcome.COMPACTED


def test_a_summary_that_is_not_smaller_is_discarded():
    session = Session(full(), summary_tokens_ceiling=12_000)
    before = session.rows()
    record = session.run(Reply(text="## Key Decisions\n" + "- word word word\n" * 4_000, finish_reason="stop"))
    assert record.outcome == Outcome.NO_GAIN
    assert session.rows() == before
    assert (session.state.batch_strikes, session.state.paused_until) == (1, None)


def struck_twice():
    """A session whose last two batches freed next to nothing, and that still grows."""
    session = Session(full())
    for _ in range(2):
        assert session.run(fat_reply(session.plan())).outcome == Outcome.COMPACTED
        session.grow(chat(3, 100, with_system=False))
    return session


def test_two_batches_that_do_not_help_pause_the_next():
    session = struck_twice()
    assert session.state.batch_strikes == 2
    assert session.state.paused_until == session.now + PAUSE_SECONDS
    assert session.run().reason == BlockedBy.INEFFECTIVE


def test_time_lets_a_probe_through_and_a_good_batch_closes_the_breaker():
    session = struck_twice()
    session.now += PAUSE_SECONDS
    assert session.run().outcome == Outcome.COMPACTED
    assert session.state.batch_strikes == 0


def test_growth_lets_a_probe_through_as_well():
    session = struck_twice()
    session.state = replace(session.state, paused_at_tokens=int(session.live.live_tokens / 1.1) - 1)
    assert isinstance(session.plan(), BatchPlan)


def test_e23_many_effective_batches_in_a_short_time_are_held_back_too():
    session = Session(full())
    outcomes = []
    for _ in range(MOST_COMMITS + 1):
        outcomes.append(session.run().outcome)
        session.grow(chat(32, 100, with_system=False))
        session.now += 60
    assert outcomes == [*[Outcome.COMPACTED] * MOST_COMMITS, Outcome.BLOCKED]


def test_near_the_end_of_the_window_a_summary_is_made_without_a_model_and_marked():
    session = Session(full(60))
    plan = session.plan()
    assert plan.is_critical
    resort = ExtractiveSummarizer(COUNTER).ask(plan.request)
    record = session.run(Reply(error="http_500"), resort)
    assert (record.outcome, record.reason) == (Outcome.FALLBACK, "http_500")
    assert "Extracted without a model" in record.summary_after


def test_below_that_a_failure_stays_a_failure():
    session = Session(full())
    assert not session.plan().is_critical
    assert session.run(Reply(error="http_500"), Reply(text=GOOD)).outcome == Outcome.ABORTED


def test_the_summary_has_all_sections_in_order_with_foreign_ones_folded_in():
    session = Session(full())
    record = session.run(Reply(text="## Goal\n- ship it\n\n## Key Decisions\n- a", finish_reason="stop"))
    headings = [line[3:] for line in record.summary_after.splitlines() if line.startswith("## ")]
    assert [heading.split(" (STALE")[0] for heading in headings][:9] == [s.value for s in Section][:9]
    assert "heading folded in: Goal" in record.notes
    [added] = [note for note in record.notes if note.startswith("headings added: ")]
    assert Section.ERRORS in added.removeprefix("headings added: ").split(", ")
    assert "ship it" in record.summary_after


def test_the_request_of_the_newest_turn_stays_live_in_front_of_a_tail_that_begins_inside_it():
    messages = [row.message for row in full(20)] + one_long_turn(200)[3:]
    session = Session(rows_of(*messages))
    session.run()
    live = session.rows()
    place = next(n for n, row in enumerate(live) if row.is_summary)
    assert live[place + 1].message.text == "do it all"
    assert live[place + 2].role is Role.ASSISTANT


def test_another_batch_inside_the_same_turn_keeps_its_request_too():
    long_turn = one_long_turn(200)[3:]
    long_turn[0] = user("do it all, and mind this: " + "detail " * 600)
    session = Session(rows_of(*[row.message for row in chat(2)], *long_turn))
    assert session.run().outcome == Outcome.COMPACTED
    request = next(row for row in session.rows() if row.message == long_turn[0])
    session.run(is_manual=True)
    assert request in session.rows()


def test_an_unanswered_request_that_is_covered_is_the_task_as_it_was_put():
    messages = [row.message for row in full(20)]
    messages += [user("then fix the parser,\nbut leave lexer.py alone"), assistant("", call("stopped"))]
    messages += [user("something else"), assistant("word " * 1_100)]
    record = Session(rows_of(*messages)).run(is_manual=True)
    task = parse_sections(record.summary_after).of(Section.TASK)
    assert task == ("then fix the parser, but leave lexer.py alone",)


def test_a_focus_is_put_into_the_question_and_redacted():
    session = Session(full())
    plan = session.plan(is_manual=True, focus="keep the key sk-ant-api03-" + "a1B2" * 12)
    assert "keep the key [REDACTED]" in plan.request.user


def test_anchors_of_the_covered_rows_are_appended():
    rows = list(full())
    rows[20] = replace(rows[20], message=assistant("see src/engine/deep/file.py for the reason"))
    session = Session(rows)
    assert "`src/engine/deep/file.py`" in session.run().summary_after


@pytest.mark.parametrize("settings", [{"enabled": False}])
def test_switched_off_it_never_runs_by_itself(settings):
    session = Session(full(), **settings)
    assert session.run().reason == BatchReason.BATCH_OFF


@given(transcripts(min_turns=4), st.sampled_from([300, 800, 2_000]), st.integers(0, 4), st.integers(0, 3))
def test_a_batch_keeps_the_laws_on_any_transcript(rows, window_tokens, protect, micro_passes):
    session = Session(rows, window_tokens, protect_first_n=protect, target_ratio=0.10)
    for _ in range(micro_passes):
        if isinstance(plan_micro(session.live, session.state, session.context), Nothing):
            break
        session.micro()
    before = session.rows()
    plan = session.plan(is_manual=True)
    record = session.settle(plan)
    after = session.rows()
    assert violations(model_view(after).messages) == ()
    if not record.is_committed:
        assert after == before
        return
    assert [row.position for row in apply_edit(before, record.edit, 90_000)] == [row.position for row in after]
    gone = [row for row in before if row.id in record.edit.archived]
    assert all(plan.window.zones.holds_in_middle(row.key) and not row.is_summary for row in gone)
    assert all(row.is_summary for row in before if row.id in record.edit.superseded)
    assert [row.kind for row in after if row.is_summary] == [RowKind.BATCH_SUMMARY]
    assert record.tokens_after == session.live.live_tokens < record.tokens_before
    newest_user = next((row for row in reversed(before) if row.opens_turn), None)
    if newest_user is not None:
        assert newest_user in after
    assert any(row.role is Role.USER for row in after) or newest_user is None
