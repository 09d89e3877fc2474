"""Pruning (ENGINE 8.2): which results become stubs, what stays whatever it costs, and when a prune runs by itself."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.batch import plan_batch, settle_batch
from compaction.budgets import TailBudget
from compaction.edits import Edit, apply_edit
from compaction.live_rows import LiveRows
from compaction.messages import ImagePart, Role, RowKind, TextPart
from compaction.micro import MicroPlan, plan_micro, settle_micro
from compaction.model_view import model_view
from compaction.pass_context import make_context
from compaction.passes import Nothing
from compaction.policy import CompactionPolicy
from compaction.provider_rules import violations
from compaction.prune import DUPLICATE, PICTURE_REMOVED, PruneReason, plan_prune, prune_rows
from compaction.prune_lines import skill_mark
from compaction.records import Outcome, PassKind
from compaction.replay import Replay, ReplayPolicy
from compaction.scripted import ScriptedSummarizer
from compaction.state import CompactionState
from compaction.summarizer import Reply
from compaction.telemetry import contradictions
from compaction.threshold import Window
from compaction.tokens import row_tokens
from compaction.transcript import ListTranscript
from compaction.turns import is_finished, split_turns
from compaction.zones import find_zones
from tests.compaction.transcripts import (
    COUNTER,
    PICTURE,
    assistant,
    call,
    result,
    rows_of,
    system,
    transcripts,
    user,
    with_kind,
)  # fmt: skip

GOOD = Reply(text="## Key Decisions\n- keep sqlite", finish_reason="stop")


def turn(number, text, name="terminal", arguments='{"command": "make"}'):
    """A request, one call, its result, and an answer."""
    found = call(f"c{number}", name, arguments)
    return [user(f"question {number}"), assistant("", found), result(f"c{number}", text), assistant(f"answer {number}")]


def session(*turns):
    """Rows of a whole session: a head of one turn, the given turns, and a newest turn that is the tail."""
    messages = [system(), user("begin"), assistant("begun")]
    for one in turns:
        messages += one
    return rows_of(*messages, user("thanks"), assistant("welcome"))


def zones_of(rows, budget=30, protect=1):
    return find_zones(ListTranscript(rows), protect, 1, 10_000, TailBudget(budget, budget))


def stubs(rows, min_chars=200, **zones):
    """By position: the content of every stub."""
    pruned = prune_rows(rows, zones_of(rows, **zones), COUNTER, min_chars)
    return {one.stub.position: one.stub.message.content for one in pruned}


def test_a_long_result_becomes_one_line_at_its_place_with_its_call_id():
    rows = session(turn(1, "line\n" * 100))
    (pruned,) = prune_rows(rows, zones_of(rows), COUNTER)
    assert (pruned.original, pruned.stub.kind) == (rows[5], RowKind.PRUNE_STUB)
    assert (pruned.stub.position, pruned.stub.replaces, pruned.stub.message.tool_call_id) == (5, 5, "c1")
    assert pruned.stub.message.content == "[terminal] ran `make` -> exit ?, 101 lines output"
    assert pruned.freed_tokens == rows[5].tokens - pruned.stub.tokens > 0


def test_two_hundred_characters_stay_and_one_more_does_not():
    assert stubs(session(turn(1, "x" * 200))) == {}
    assert list(stubs(session(turn(1, "x" * 201)))) == [5]


def test_older_results_that_come_again_point_to_the_newest_which_is_told_in_a_line():
    rows = session(*(turn(n, "same " * 60) for n in (1, 2, 3)))
    assert stubs(rows) == {5: DUPLICATE, 9: DUPLICATE, 13: "[terminal] ran `make` -> exit ?, 1 lines output"}


def test_the_newest_of_them_may_be_in_the_tail_and_stays_there_as_it_is():
    rows = rows_of(system(), user("begin"), assistant("begun"), *turn(1, "same " * 60), *turn(2, "same " * 60))
    assert stubs(rows, budget=200) == {5: DUPLICATE}


def test_pictures_stay_in_the_newest_three_results_that_hold_any():
    shot = (TextPart("shot"), PICTURE)
    rows = session(*(turn(n, shot, "browser_vision", "{}") for n in range(1, 6)))
    removed = (TextPart("shot"), TextPart(PICTURE_REMOVED))
    assert stubs(rows) == {5: removed, 9: removed}


def test_a_picture_with_a_long_text_becomes_a_line_once_it_is_old():
    long_shot = (TextPart("x" * 300), PICTURE)
    rows = session(*(turn(n, long_shot, "browser_vision", '{"url": "https://e.x"}') for n in range(1, 5)))
    assert stubs(rows) == {5: "[browser_vision] https://e.x (300 chars)"}


def test_what_the_agent_has_not_read_yet_stays_whatever_it_costs():
    rows = rows_of(user("go"), assistant("", call("a"), call("b")), result("a", "x" * 900), result("b", "y" * 900))
    assert prune_rows(rows, everything(rows), COUNTER) == ()


def test_head_and_tail_stay():
    rows = rows_of(system(), *turn(1, "x" * 900), *turn(2, "y" * 900), *turn(3, "z" * 900))
    assert list(stubs(rows, budget=300)) == [7]


def test_a_result_that_would_not_get_smaller_stays():
    assert stubs(session(turn(1, "x" * 201, "read_file", '{"path": "%s"}' % ("a/" * 150)))) == {}


def test_stubs_and_lines_that_another_program_wrote_are_not_shortened_again():
    rows = session(turn(1, "x" * 900), turn(2, "[web_extract] https://e.x/" + "a" * 200 + " (9,000 chars)"))
    assert list(stubs(rows)) == [5]
    again = [with_kind(row, RowKind.PRUNE_STUB) if row.position == 5 else row for row in rows]
    assert stubs(again) == {}


def test_instructions_in_use_stay():
    skill = turn(1, "steps " * 1_000, "skill_view", '{"name": "Deploy"}')
    talk = [message for n in range(2, 8) for message in (user(f"q{n}"), assistant(f"a{n}"))]
    assert stubs(session(skill)) == {}
    assert stubs(session(skill, talk)) == {5: f"[skill_view] name=Deploy (6,000 chars) {skill_mark('Deploy')}"}
    opening = (system(), user("begin"), assistant("begun"))
    assert stubs(rows_of(*opening, *skill, *talk, user("deploy again"), assistant("k"))) == {}


def test_a_result_without_a_call_is_told_by_its_own_name():
    orphan = replace(result("zz", "x" * 300), name="Grep")
    assert stubs(session([user("q"), orphan, assistant("a")])) == {4: "[Grep] search for '?' in . -> 1 lines output"}
    assert stubs(session([user("q"), result("", "x" * 300), assistant("a")])) == {4: "[unknown] (300 chars result)"}


def everything(rows):
    """Zones without head and tail."""
    return replace(zones_of(rows, protect=0), head_end=None, tail_start=None)


def edit_of(pruned):
    return Edit(archived=tuple(one.original.id for one in pruned), inserted=tuple(one.stub for one in pruned))


# Proactive


def context_for(window=40_000, **settings):
    defaults = {"proactive_prune_tokens": 1_000, "proactive_prune_min_result_chars": 8_000, "protect_first_n": 1}
    return make_context(CompactionPolicy(**(defaults | settings)), Window(window), COUNTER)


def live_of(rows):
    live = LiveRows(10_000)
    for row in rows:
        live.insert(row)
    return live


def long_session(results=5, chars=12_000):
    """Five long results before a tail that fills its budget of 6,800 tokens."""
    turns = [turn(n, f"{n} " * (chars // 2)) for n in range(1, results + 1)]
    return session(*turns, [user("q"), assistant("word " * 6_000)])


def test_a_proactive_prune_frees_what_it_says_and_changes_nothing_else():
    rows = long_session()
    live = live_of(rows)
    settled = plan_prune(live, CompactionState(passes_total=3), context_for())
    record = settled.record
    assert (record.kind, record.outcome, len(record.edit.inserted)) == (PassKind.PRUNE, Outcome.PRUNED, 5)
    live.apply(record.edit)
    assert (
        record.tokens_after
        == live.live_tokens
        == record.tokens_before
        - 5 * 3_000
        + sum(row.tokens - 10 for row in live.forward() if row.kind is RowKind.PRUNE_STUB)
    )
    assert (record.rows_after, live.live_rows) == (len(rows), len(rows))
    assert settled.state.tokens_saved_total == record.tokens_before - record.tokens_after
    assert settled.state.passes_total == 4
    assert contradictions(record) == ()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"proactive_prune_tokens": 0}, PruneReason.PRUNE_OFF),
        ({"enabled": False}, PruneReason.PRUNE_OFF),
        ({"proactive_prune_tokens": 100_000}, PruneReason.BELOW_TRIGGER),
        ({"proactive_prune_min_result_chars": 12_000}, PruneReason.NOTHING_TO_PRUNE),
        ({"proactive_prune_min_reclaim_tokens": 50_000}, PruneReason.BELOW_MIN_RECLAIM),
    ],
)
def test_why_nothing_is_pruned_is_told_and_the_state_stays(settings, reason):
    state = CompactionState()
    nothing = plan_prune(live_of(long_session()), state, context_for(**settings))
    assert isinstance(nothing, Nothing)
    assert (nothing.reason, nothing.state) == (reason, state)


def test_the_next_prune_waits_until_the_context_has_regrown_by_what_a_prune_must_free():
    live = live_of(long_session())
    context = context_for(proactive_prune_min_reclaim_tokens=5_000)
    settled = plan_prune(live, CompactionState(), context)
    live.apply(settled.record.edit)
    rearm_tokens = live.live_tokens + 5_000
    assert settled.state.prune_rearm_tokens == rearm_tokens
    append(live, *turn(9, "9 " * 8_000))
    assert plan_prune(live, settled.state, context).reason == PruneReason.WAITS_FOR_REGROWTH
    append(live, *turn(10, "10 " * 8_000), user("q"), assistant("word " * 6_000))
    assert len(plan_prune(live, settled.state, context).record.edit.inserted) == 2


def append(live, *messages):
    for row in rows_of(*messages):
        place = 1_000 + live.live_rows
        live.insert(replace(row, id=place, position=place))


def test_results_inside_a_newest_turn_that_is_larger_than_the_tail_are_pruned_up_to_the_budget():
    messages = [system(), user("begin"), assistant("begun"), user("do it all")]
    for n in range(60):
        messages += [assistant("", call(f"r{n}")), result(f"r{n}", f"{n} " * 1_000)]
    rows = rows_of(*messages)
    context = context_for(proactive_prune_min_result_chars=200)
    record = plan_prune(live_of(rows), CompactionState(), context).record
    newest_kept = [row for row in rows if row.role is Role.TOOL and row.id not in record.edit.removed]
    assert sum(row.tokens for row in newest_kept) <= context.tail.budget_tokens
    assert newest_kept == [row for row in rows if row.role is Role.TOOL][-len(newest_kept) :]


# In a batch


def test_the_question_of_a_batch_shows_lines_and_says_how_much_shorter_they_are():
    unique = "ImportError: cannot import name 'frobnicate' from src/deep/inside/engine.py"
    filler = [message for n in range(20) for message in (user(f"q{n}"), assistant("word " * 300))]
    rows = session(turn(1, "noise " * 400 + "\n" + unique), filler)
    context = make_context(CompactionPolicy(protect_first_n=1), Window(20_000), COUNTER)
    plan = plan_batch(live_of(rows), CompactionState(), context, now=0.0, is_manual=True)
    assert "[terminal] ran `make` -> exit ?, 2 lines output" in plan.request.user
    assert unique not in plan.request.user
    assert unique in plan.request.messages[2].text
    record = settle_batch(plan, GOOD).record
    line_tokens = row_tokens(result("c1", "[terminal] ran `make` -> exit ?, 2 lines output"), COUNTER)
    assert f"tool results shortened for the question: 1 ({rows[5].tokens} to {line_tokens} tokens)" in record.notes
    assert unique in record.summary_after.split("## Exact Anchors")[1]


# Replay


def replayed(rows, policy, window=8_000, **settings):
    context = make_context(CompactionPolicy(**({"protect_first_n": 1} | settings)), Window(window), COUNTER)
    replay = Replay(rows, policy, context, ScriptedSummarizer([GOOD] * 500))
    return list(replay.steps()), replay.result()


def test_a_replay_under_prune_shortens_results_when_the_threshold_is_reached():
    rows = session(*(turn(n, f"{n} " * 1_500) for n in range(1, 25)))
    steps, outcome = replayed(rows, ReplayPolicy.PRUNE, proactive_prune_min_reclaim_tokens=1_000)
    pruned = [step for step in steps if step.record.outcome is Outcome.PRUNED]
    assert pruned and all(step.record.kind is PassKind.PRUNE for step in pruned)
    assert all(step.record.tokens_before >= 6_800 for step in pruned)
    assert (outcome.summary_rows, outcome.summarizer_calls) == (0, 0)
    assert outcome.stub_rows == outcome.archived_rows == sum(len(step.applied.inserted) for step in pruned)
    assert outcome.peak_tokens < 8_000
    assert {step.turn for step in steps} == set(range(1, outcome.turns + 1))


def test_every_policy_can_be_replayed():
    rows = session(*(turn(n, f"{n} " * 1_500) for n in range(1, 12)))
    for policy in ReplayPolicy:
        _steps, outcome = replayed(rows, policy)
        assert outcome.rows == len(rows)


def test_a_replay_prunes_beside_other_passes_when_the_settings_switch_it_on():
    rows = session(*(turn(n, f"{n} " * 1_500) for n in range(1, 25)))
    settings = {"proactive_prune_tokens": 3_000, "proactive_prune_min_result_chars": 1_000}
    for policy in (ReplayPolicy.MICRO, ReplayPolicy.BATCH, ReplayPolicy.MICRO_AND_BATCH):
        off, _ = replayed(rows, policy)
        on, _ = replayed(rows, policy, proactive_prune_min_reclaim_tokens=500, **settings)
        assert not any(step.record.kind is PassKind.PRUNE for step in off)
        assert any(step.record.kind is PassKind.PRUNE for step in on)


# Laws


def shapes(rows):
    return [(entry.role, entry.tool_calls, entry.tool_call_id) for entry in model_view(rows).messages]


@given(transcripts(min_turns=3), st.sampled_from([300, 1_000, 4_000]), st.integers(0, 4), st.booleans(), st.booleans())
def test_a_prune_keeps_the_laws_on_any_transcript(rows, window_tokens, protect, with_micro, is_eager):
    policy = CompactionPolicy(
        micro_compact=with_micro, protect_first_n=protect, target_ratio=0.10, proactive_prune_tokens=1,
        proactive_prune_min_result_chars=200, proactive_prune_min_reclaim_tokens=0 if is_eager else 50,
    )  # fmt: skip
    context = make_context(policy, Window(window_tokens), COUNTER)
    live, state, archived = LiveRows(1_000_000), CompactionState(), []
    for turn_rows in split_turns(rows):
        for row in turn_rows:
            live.insert(row)
        plan = plan_micro(live, state, context, turn_finished=is_finished(turn_rows))
        if isinstance(plan, MicroPlan):
            micro = settle_micro(plan, GOOD)
            archived += live.apply(micro.record.edit).archived
            state = micro.state
        before = tuple(live.forward())
        if is_eager:
            state = replace(state, prune_rearm_tokens=None)
        settled = plan_prune(live, state, context)
        if isinstance(settled, Nothing):
            assert settled.state == state
            continue
        record = settled.record
        gone = [row for row in before if row.id in record.edit.removed]
        # Tool results before the tail, each replaced by a smaller one at its place; nothing else.
        assert not record.edit.superseded
        for row, stub in zip(gone, record.edit.inserted, strict=True):
            assert (row.role, row.kind) == (Role.TOOL, RowKind.MESSAGE)
            assert record.zones.holds_in_middle(row.key)
            assert (stub.position, stub.replaces) == (row.position, row.id)
            assert replace(stub.message, content=None) == replace(row.message, content=None)
            assert stub.tokens < row.tokens
        applied = live.apply(record.edit)
        archived += applied.archived
        after = tuple(live.forward())
        assert [row.message for row in apply_edit(before, record.edit, 5_000_000)] == [row.message for row in after]
        assert live.live_tokens == sum(row.tokens for row in after) == record.tokens_after
        assert contradictions(record) == ()
        assert record.tokens_before - record.tokens_after == settled.state.tokens_saved_total - state.tokens_saved_total
        # The model sees the same calls and results in the same order.
        assert violations(model_view(after).messages) == ()
        assert shapes(after) == shapes(before)
        # Pruning what is pruned does nothing.
        assert prune_rows(after, record.zones, COUNTER) == ()
        # Before the tail, pictures that the agent has seen are left in the newest three results that hold any.
        old_pictures = [row for row in after if row.role is Role.TOOL and has_picture(row.message)][:-3]
        assert not [row for row in old_pictures if record.zones.holds_in_middle(row.key) and is_read(row, after)]
        state = settled.state
    kept = [row for row in live.forward() if row.kind is RowKind.MESSAGE]
    gone_for_good = [row for row in archived if row.kind is RowKind.MESSAGE]
    assert sorted([*kept, *gone_for_good], key=lambda row: row.id) == list(rows)


def has_picture(message):
    return isinstance(message.content, tuple) and any(isinstance(part, ImagePart) for part in message.content)


def is_read(row, rows):
    return any(later.role is Role.ASSISTANT for later in rows if later.key > row.key)
