"""Micro passes: what they absorb, how they fail, when they wait (ENGINE 5 to 7)."""

from dataclasses import replace

from compaction.live_rows import LiveRows
from compaction.markers import END_MARK, OPENING, TASK_HEADING
from compaction.messages import RowKind
from compaction.micro import MicroPlan, NothingReason, plan_micro, settle_micro
from compaction.pass_context import make_context
from compaction.passes import Nothing
from compaction.policy import CompactionPolicy, MicroWhen
from compaction.records import Outcome, PassKind
from compaction.state import CompactionState
from compaction.summarizer import Reply
from compaction.threshold import Window
from tests.compaction.transcripts import COUNTER, assistant, chat, rows_of, system, user

SMALL = Window(8_000)


def context(window=SMALL, **settings):
    return make_context(CompactionPolicy(micro_compact=True, **settings), window, COUNTER, main_model="m")


class Session:
    """A transcript under passes, as a store would keep it."""

    def __init__(self, rows, made_under=None):
        self.live = LiveRows(10_000)
        for row in rows:
            self.live.insert(row)
        self.state = CompactionState()
        self.context = made_under or context()

    def plan(self):
        return plan_micro(self.live, self.state, self.context)

    def run(self, text="## Key Decisions\n- keep it", **reply):
        plan = self.plan()
        if isinstance(plan, Nothing):
            self.state = plan.state
            return plan
        settled = settle_micro(plan, Reply(text=text, duration_ms=5, **reply))
        self.state = settled.state
        self.live.apply(settled.record.edit)
        return settled.record

    def ids(self):
        return [row.id for row in self.live.forward()]

    def summaries(self):
        return [row for row in self.live.forward() if row.is_summary]


def long_chat(turns=40, words=100):
    return chat(turns, words)


def test_a_pass_absorbs_the_oldest_exchange_and_leaves_every_other_row():
    rows = long_chat()
    session = Session(rows)
    record = session.run()
    assert (record.kind, record.outcome) == (PassKind.MICRO, Outcome.ABSORBED)
    assert record.edit.archived == (6,)
    assert session.ids() == [0, 1, 2, 3, 4, 5, 10_000, *range(7, len(rows))]


def test_exchanges_are_absorbed_one_after_the_other_under_one_summary():
    session = Session(long_chat())
    archived = [session.run(f"## Key Decisions\n- after {n}").edit.archived for n in range(5)]
    assert archived == [(6,), (8,), (10,), (12,), (14,)]
    assert [row.kind for row in session.summaries()] == [RowKind.MICRO_SUMMARY]
    assert "after 4" in session.summaries()[0].message.text


def test_the_summary_stands_where_the_exchange_was_so_the_next_request_follows_it():
    session = Session(long_chat())
    session.run()
    session.run()
    rows = list(session.live.forward())
    place = next(n for n, row in enumerate(rows) if row.is_summary)
    assert [row.id for row in rows[place - 2 : place + 2]] == [5, 7, 10_001, 9]


def test_the_summary_row_is_framed_as_reference_with_an_end_mark():
    session = Session(long_chat())
    session.run("## Key Decisions\n- keep sqlite")
    text = session.summaries()[0].message.text
    assert text.startswith(OPENING)
    assert text.endswith(END_MARK)
    assert f"{TASK_HEADING}\n## Key Decisions\n- keep sqlite" in text


def test_below_the_tail_budget_nothing_happens():
    session = Session(chat(4))
    assert session.run().reason == NothingReason.BELOW_TAIL_BUDGET


def test_a_newest_turn_over_the_ceiling_makes_micro_wait():
    rows = rows_of(system(), user("q"), assistant("a"), user("big"), assistant("word " * 4_000))
    assert Session(rows).run().reason == NothingReason.NEWEST_TURN_EXCEEDS_TAIL


def test_the_cadence_counts_turns_not_passes():
    session = Session(long_chat(), context(micro_compact_every_n_turns=3))
    outcomes = [type(session.run()) is Nothing for _ in range(6)]
    assert outcomes == [True, True, False, True, True, False]


def test_an_unfinished_turn_runs_no_pass_and_does_not_count():
    session = Session(long_chat())
    nothing = plan_micro(session.live, session.state, session.context, turn_finished=False)
    assert nothing == Nothing(NothingReason.TURN_NOT_FINISHED, session.state)


def test_off_means_off():
    session = Session(long_chat(), context(enabled=False))
    assert session.run().reason == NothingReason.MICRO_OFF


def test_a_backlog_shrinks_when_a_pass_may_take_several_exchanges():
    session = Session(long_chat(), context(micro_compact_max_exchanges=3))
    record = session.run()
    assert record.edit.archived == (6, 8, 10)
    assert session.summaries()[0].position == 10


def test_the_reclaim_gate_waits_and_then_takes_everything():
    waiting = Session(long_chat(), context(micro_compact_min_reclaim_tokens=1_000_000))
    assert waiting.run().reason == NothingReason.BELOW_MIN_RECLAIM
    session = Session(long_chat(), context(micro_compact_min_reclaim_tokens=500))
    record = session.run()
    assert len(record.edit.archived) > 3
    assert session.run().reason == NothingReason.NO_COMPLETE_EXCHANGE


def test_cache_cold_runs_only_when_the_cache_is_known_to_be_cold():
    for is_cold, reason in ((False, NothingReason.CACHE_WARM), (None, NothingReason.CACHE_UNKNOWN)):
        made = replace(context(micro_compact_when=MicroWhen.CACHE_COLD), is_cache_cold=is_cold)
        assert Session(long_chat(), made).run().reason == reason
    made = replace(context(micro_compact_when=MicroWhen.CACHE_COLD), is_cache_cold=True)
    assert Session(long_chat(), made).run().outcome == Outcome.ABSORBED


def test_a_failed_pass_changes_no_row_and_counts_the_failure():
    session = Session(long_chat())
    before = list(session.live.forward())
    record = session.run(None, error="timeout")
    assert (record.outcome, record.reason) == (Outcome.SUMMARIZE_FAILED, "timeout")
    assert record.tokens_after == record.tokens_before
    assert list(session.live.forward()) == before
    assert session.state.exchange_failures == 1


def test_three_failures_in_a_row_skip_the_exchange_and_leave_it_in_place():
    session = Session(long_chat())
    outcomes = [session.run(None, error="http_500").outcome for _ in range(3)]
    assert outcomes == [Outcome.SUMMARIZE_FAILED, Outcome.SUMMARIZE_FAILED, Outcome.EXCHANGE_SKIPPED]
    assert session.run().edit.archived == (8,)
    assert 6 in session.ids()


def test_a_success_in_between_starts_the_count_of_failures_anew():
    session = Session(long_chat())
    session.run(None, error="timeout")
    session.run()
    assert session.run(None, error="timeout").outcome == Outcome.SUMMARIZE_FAILED
    assert session.state.exchange_failures == 1


def test_an_answer_longer_than_its_limit_is_unusable():
    session = Session(long_chat())
    record = session.run("word " * 4_000)
    assert (record.outcome, record.reason) == (Outcome.SUMMARIZE_FAILED, "length")


def grown(session, tokens):
    """The session with a rolling summary of about `tokens`."""
    session.run("## Key Decisions\n" + "- word word\n" * (tokens // 3))
    return session


def test_a_long_summary_is_rewritten_instead_of_absorbing():
    session = grown(Session(long_chat()), 2_100)
    before = session.ids()
    record = session.run("## Key Decisions\n- compact")
    assert (record.kind, record.outcome) == (PassKind.DEFRAG, Outcome.DEFRAG)
    assert record.edit.archived == ()
    assert [i for i in session.ids() if i < 10_000] == [i for i in before if i < 10_000]
    assert session.run().kind == PassKind.MICRO


def test_a_defrag_that_gains_nothing_is_discarded_and_absorption_goes_on():
    session = grown(Session(long_chat()), 2_100)
    same = session.state.rolling_summary
    record = session.run(same)
    assert record.outcome == Outcome.DEFRAG_NO_GAIN
    assert record.edit.is_empty
    kinds = [session.run(same).kind for _ in range(6)]
    assert kinds == [PassKind.MICRO] * 5 + [PassKind.DEFRAG]


def test_a_failed_defrag_leaves_everything_and_is_tried_again_three_times_at_most():
    session = grown(Session(long_chat()), 2_100)
    before = list(session.live.forward())
    outcomes = [session.run(None, error="timeout").outcome for _ in range(3)]
    assert outcomes == [Outcome.DEFRAG_FAILED] * 3
    assert list(session.live.forward()) == before
    assert session.run().kind == PassKind.MICRO


def test_a_reply_cut_for_length_on_a_long_summary_asks_for_a_defrag_next():
    session = grown(Session(long_chat()), 1_500)
    session.run("cut", finish_reason="length")
    assert session.plan().kind == PassKind.DEFRAG


def test_a_lost_state_finds_its_summary_and_its_place_again():
    session = Session(long_chat())
    session.run("## Key Decisions\n- remembered")
    session.state = CompactionState()
    plan = session.plan()
    assert isinstance(plan, MicroPlan)
    assert "- remembered" in plan.earlier
    assert [row.id for row in plan.exchanges[0].rows] == [8]


def test_the_question_is_fitted_to_a_small_summarizer_window():
    messages = [system(), user("q1"), assistant("a1"), user("q2"), assistant("word " * 1_500)]
    for n in range(30):
        messages += [user(f"q{n}"), assistant("word " * 100)]
    made = replace(context(Window(8_000), protect_first_n=2), aux_window_tokens=5_000)
    plan = Session(rows_of(*messages), made).plan()
    assert COUNTER.count(plan.request.user) + plan.request.max_output_tokens <= 5_000


def test_a_summarizer_without_room_skips_the_exchange_with_the_reason():
    session = Session(long_chat(), replace(context(), aux_window_tokens=1_000))
    plan = session.plan()
    assert plan.request is None
    settled = settle_micro(plan, None)
    assert (settled.record.outcome, settled.record.reason) == (Outcome.EXCHANGE_SKIPPED, "aux_window_too_small")
    assert settled.state.cursor == plan.exchanges[-1].end


def test_figures_of_a_record_add_up():
    session = Session(long_chat())
    for _ in range(5):
        live_before = session.live.live_tokens
        record = session.run()
        zones = record.zones
        assert zones.head_tokens + zones.middle_tokens + zones.tail_tokens == record.tokens_before == live_before
        assert record.tokens_after == session.live.live_tokens
        assert record.rows_after == session.live.live_rows
    assert session.state.passes_total == 5
