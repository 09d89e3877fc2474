"""Known faults of passes in other programs, each with the input it was reported with (micro passes and defrags)."""

import json

import pytest

from compaction.config_yaml import read_config_yaml
from compaction.markers import END_MARK, OPENING
from compaction.messages import Role, RowKind
from compaction.micro import NothingReason
from compaction.model_view import RepairKind, model_view
from compaction.passes import Nothing
from compaction.policy import CompactionPolicy
from compaction.provider_rules import violations
from compaction.records import Outcome
from compaction.replies import UnusableReason
from compaction.summarizer import Reply
from compaction.telemetry import MICRO_PREFIX, log_lines
from tests.compaction.faults import GOOD, INPUTS, Session, load, of_kind, originals, rows_for, rows_from
from tests.compaction.transcripts import COUNTER, assistant, call, chat, result, rows_of, system, user


@pytest.mark.parametrize("tail_tokens", range(5, 160, 5))
def test_e01_no_tail_budget_parts_parallel_calls_from_their_results(tail_tokens):
    for run in (Session.micro, Session.batch):
        session = Session(rows_for("E01")).tail_of(tail_tokens)
        before = session.view
        run(session)
        calls = [message.tool_calls for message in session.view if message.tool_calls]
        assert calls == [message.tool_calls for message in before if message.tool_calls] or not calls
        assert not {RepairKind.DROPPED_CALL, RepairKind.DROPPED_RESULT} & {
            repair.kind for repair in model_view(session.rows).repairs
        }


def test_e04_results_without_a_call_id_stay_visible_and_never_reach_a_model():
    session = Session(rows_for("E04")).tail_of(5)
    session.append(user("next"), assistant("done"))
    before = session.rows
    assert {"no id", "null id", "empty id"} <= {row.message.text for row in before}
    assert not any(message.role is Role.TOOL or message.tool_calls for message in session.view)
    assert violations(session.view) == ()
    session.micro()
    session.batch()


def test_e07_a_broken_transcript_is_made_valid_although_no_pass_ever_ran():
    view = model_view(rows_for("E07"))
    assert violations(view.messages) == ()
    kinds = {repair.kind for repair in view.repairs}
    assert {RepairKind.DROPPED_RESULT, RepairKind.DROPPED_CALL, RepairKind.MERGED_NEIGHBOURS} <= kinds


@pytest.mark.parametrize("error", ["timeout", "http_529", "connection"])
def test_e09_a_summarizer_that_fails_leaves_rows_cursor_and_summary_as_they_were(error):
    session = Session(chat(20, 40)).tail_of(100)
    session.micro()
    rows, state = session.rows, session.state
    record = session.micro(Reply(error=error))
    assert (record.outcome, record.reason) == (Outcome.SUMMARIZE_FAILED, error)
    assert session.rows == rows
    assert (session.state.cursor, session.state.rolling_summary) == (state.cursor, state.rolling_summary)
    assert session.state.exchange_failures == 1
    lines = [line.text for line in log_lines(record, "s") if line.text.startswith(MICRO_PREFIX)]
    assert len(lines) == 1 and '"outcome":"summarize_failed"' in lines[0]


def test_e11_one_request_and_many_rounds_is_a_real_question_or_nothing_at_all():
    rows = rows_for("E11")
    session = Session(rows).tail_of(200)
    nothing = session.micro()
    assert isinstance(nothing, Nothing) and nothing.reason == NothingReason.NEWEST_TURN_EXCEEDS_TAIL
    assert session.rows == rows
    asked = []
    record = session.batch(lambda plan: asked.append(plan.request) or GOOD)
    assert record.is_committed
    assert "src/p12.py" in asked[0].user and any("p12 body" in message.text for message in asked[0].messages)
    assert "keep sqlite" in session.summaries[0].message.text
    assert rows[1] in session.rows


def test_e14_a_summary_that_is_larger_than_its_exchanges_stays_within_its_limit_and_is_never_a_batch():
    loaded = load("E14")
    fat = Reply(text=loaded["fake_summary"], finish_reason="stop")
    session = Session(rows_from(loaded["messages"])).tail_of(20)
    assert session.batch(fat).outcome is Outcome.NO_GAIN
    assert session.rows == rows_from(loaded["messages"])
    for _ in range(5):
        session.micro(fat)
    assert len(session.summaries) <= 1
    assert session.state.rolling_summary_tokens <= 2_500
    assert sum(record.outcome is Outcome.ABSORBED for record in session.records) <= 4


def test_e16_a_defrag_that_gains_nothing_does_not_keep_exchanges_from_being_absorbed():
    loaded = read_config_yaml((INPUTS / "E16_config_echo_defrag.yaml").read_bytes())
    policy = CompactionPolicy.from_mapping(loaded).policy
    text = "## Key Decisions\n" + "- it was decided to keep the parser as it is\n" * 200
    session = Session(
        chat(30, 20), micro_compact_defrag_threshold_tokens=policy.micro_compact_defrag_threshold_tokens
    ).tail_of(60)
    session.micro(Reply(text=text, finish_reason="stop"))
    assert session.state.rolling_summary_tokens >= 2_000
    for _ in range(10):
        session.micro(lambda plan: Reply(text=plan.earlier, finish_reason="stop"))
    outcomes = [record.outcome for record in session.records[1:]]
    assert outcomes.count(Outcome.ABSORBED) >= 8
    assert 1 <= outcomes.count(Outcome.DEFRAG_NO_GAIN) <= 2
    defrag = next(record for record in session.records if record.outcome is Outcome.DEFRAG_NO_GAIN)
    assert "must stay under 1,005" in defrag.request.user


def test_e17_repairing_the_view_between_passes_never_touches_the_summary():
    rows = rows_for("E17")
    session = Session(rows, protect_first_n=0).tail_is_newest_turn()
    sizes = []
    for number in range(5):
        session.micro(Reply(text=f"## Key Decisions\n- pass {number}", finish_reason="stop"))
        assert violations(session.view) == ()
        sizes.append(session.live.live_rows)
    assert [row.role for row in of_kind(session.rows, RowKind.MICRO_SUMMARY)] == [Role.ASSISTANT]
    assert [row for row in session.rows if row.is_user] == [row for row in rows if row.is_user]
    assert sizes == sorted(sizes, reverse=True)


def test_e19_a_summary_among_the_opening_rows_is_no_head_and_does_not_pile_up():
    session = Session(rows_for("E19"), protect_first_n=3).tail_is_newest_turn()
    for number in range(3):
        before = session.rows
        record = session.micro(Reply(text=f"## Key Decisions\n- pass {number}", finish_reason="stop"))
        assert len(session.summaries) == 1
        assert not any(row.is_summary for row in before[: record.zones.head_rows])
    assert all(record.is_committed for record in session.records)


def test_e20_a_summarizer_that_quotes_the_summary_before_can_not_make_it_grow_for_ever():
    session = Session(rows_for("E20"), protect_first_n=0)
    session.append(*(message for n in range(12) for message in (user(f"q{n}"), assistant(f"answer {n} " * 10))))
    session.tail_is_newest_turn()

    def quoting(plan):
        before = plan.superseded[-1].message.text if plan.superseded else ""
        return Reply(text=f"PREVIOUSLY: {before}\nSTILL IN PROGRESS: {'x ' * 200}")

    for _ in range(12):
        assert session.micro(quoting).outcome in (Outcome.ABSORBED, Outcome.DEFRAG, Outcome.DEFRAG_NO_GAIN)
        assert session.state.rolling_summary_tokens <= 2_500
        assert OPENING not in session.state.rolling_summary and END_MARK not in session.state.rolling_summary
    assert all(row.message.text.count(OPENING) == 1 for row in session.summaries)


def test_e32_an_exchange_larger_than_the_summarizer_s_window_is_cut_to_fit_or_skipped_with_its_reason():
    big = [user("read it all"), assistant("", call("1")), result("1", "line of a file\n" * 5_000), assistant("read")]
    small = [message for n in range(12) for message in (user(f"q{n}"), assistant("word " * 30))]
    for window_tokens, expected in ((8_192, Outcome.ABSORBED), (2_700, Outcome.EXCHANGE_SKIPPED)):
        rows = rows_of(system(), user("begin"), assistant("begun"), *big, *small)
        session = Session(rows, window_tokens=400_000, aux_window_tokens=window_tokens).tail_of(100)
        first = session.micro()
        assert first.outcome is expected
        if first.request is not None:
            asked = COUNTER.count(first.request.system + first.request.user)
            assert asked + first.request.max_output_tokens <= window_tokens
        else:
            assert first.reason == UnusableReason.AUX_WINDOW_TOO_SMALL
        cursors = [session.state.cursor]
        for _ in range(9):
            session.micro()
            cursors.append(session.state.cursor)
        assert cursors == sorted(cursors) and cursors[-1] > cursors[0]


def test_e34_absorbing_one_exchange_leaves_all_others_byte_for_byte():
    rows = chat(6, 30)
    session = Session(rows).tail_is_newest_turn()
    record = session.micro()
    absorbed = rows[4]
    assert record.edit.archived == (absorbed.id,)
    assert [row for row in session.rows if not row.is_summary] == [row for row in rows if row is not absorbed]


def test_e35_pending_work_in_a_summary_reads_as_history_and_the_newest_request_follows_it():
    stale = "## Historical Pending User Asks\n- finish section 4\n\n## Historical Remaining Work\n- section 4, part b"
    rows = originals(rows_for("E35"))
    request = rows[-1]
    session = Session(rows, protect_first_n=0).tail_of(request.tokens)
    assert session.micro(Reply(text=stale, finish_reason="stop")).is_committed
    texts = [message.text for message in session.view]
    place = next(n for n, text in enumerate(texts) if "finish section 4" in text)
    assert texts[place].startswith(f"{OPENING}") and "REFERENCE ONLY" in texts[place]
    assert texts[place].rstrip().endswith(END_MARK)
    assert "latest user message" in texts[place]
    assert texts[place + 1 :] == [request.message.text]
    assert session.view[-1].role is Role.USER


def test_e37_while_the_summarizer_is_down_no_text_of_a_user_is_written_anywhere_else():
    rows = chat(12, 30)
    session = Session(rows).tail_of(60)
    for _ in range(6):
        session.micro(Reply(error="connection"))
    assert session.rows == rows
    view = "\n".join(message.text for message in session.view)
    assert all(view.count(row.message.text) == 1 for row in rows if row.is_user and row.message.text != "question 1")


def test_e38_two_sessions_in_one_process_never_see_each_other_s_words():
    lines = (INPUTS / "E38_two_sessions_sentinels.jsonl").read_text(encoding="utf-8").splitlines()
    sessions = {each["session"]: Session(rows_from(each["messages"])) for each in map(json.loads, lines)}
    sessions = {name: session.tail_is_newest_turn() for name, session in sessions.items()}
    asked = {name: [] for name in sessions}
    for _ in range(4):
        for name, session in sessions.items():
            said = Reply(text=f"## Key Decisions\n- noted for {name}-SUMMARY", finish_reason="stop")
            session.micro(lambda plan, name=name, said=said: asked[name].append(plan.request.user) or said)
    assert asked["A"] and asked["B"]
    assert "ALPHA" in "".join(asked["A"])
    assert not any("ALPHA" in text or "A-SUMMARY" in text for text in asked["B"])
    assert not any("A-SUMMARY" in row.message.text for row in sessions["B"].summaries)


def test_e39_a_call_that_still_runs_is_never_touched_and_its_late_result_finds_it():
    loaded = load("E39")
    session = Session(rows_from(loaded["messages"])).tail_of(1)
    waiting = session.rows[-1]
    assert waiting.message.tool_calls
    session.micro()
    session.batch()
    assert waiting in session.rows
    late = loaded["late_result"]
    session.append(result(late["tool_call_id"], late["content"]), assistant("so it did"))
    assert [message.text for message in session.view][-2:] == [late["content"], "so it did"]


def test_e43_rejections_and_errors_answer_their_calls():
    rows = rows_for("E43")
    view = model_view(rows)
    assert RepairKind.DROPPED_CALL not in {repair.kind for repair in view.repairs}
    calls = next(message.tool_calls for message in view.messages if message.tool_calls)
    assert [each.id for each in calls] == ["n1", "n2"]
    session = Session(rows).tail_is_newest_turn()
    session.micro()
    assert {"n1", "n2"}.isdisjoint({row.message.tool_call_id for row in session.rows})


def test_e45_the_head_is_the_same_bytes_after_ten_passes_and_each_says_what_it_makes_cold():
    session = Session(chat(20, 30)).tail_is_newest_turn()
    head = session.view[:3]
    for _ in range(10):
        record = session.micro()
        assert session.view[:3] == head
        changed = record.tokens_after - sum(row.tokens for row in session.rows[:3])
        assert record.cache_break_tokens == changed > 0
    assert len(originals(session.rows)) == 41 - 10
