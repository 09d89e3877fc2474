"""Simulated replays of stored sessions: their steps are stored, and the session itself is not touched."""

import pytest
from row_builder import COUNTER, NewMessage, assistant, call, result, user

from compaction.messages import Message, Role, RowKind
from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Reply
from sessions_app import replay_runs, services
from sessions_app.models import MessageRow, ReplayRun, ReplayStep, SessionEvent
from sessions_app.queries.replay_rows import rows_for_replay
from sessions_app.replay_runs import run_replay
from sessions_app.services.replays import cancel_replay, request_replay

pytestmark = pytest.mark.django_db
SETTINGS = {"compression": {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5}}


@pytest.fixture
def session(project):
    return services.create_session(project, window_tokens=8_000)


@pytest.fixture
def talked(rows):
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    for number in range(14):
        name = f"c{number}"
        rows.append(user(f"question {number}"), call(name), result(name, f"line of {name} " * 60), assistant("done"))
    return rows


def scripted(*replies):
    return ScriptedSummarizer(
        replies or [Reply(text="## Key Decisions\n- keep the parser", finish_reason="stop")], model="small"
    )


def ask(rows, policy="micro", **more):
    return request_replay(rows.session, policy, settings=SETTINGS, token_counter="rough", **more)


def test_a_run_stores_one_step_for_each_turn_and_the_result(talked):
    run = ask(talked)
    before = list(MessageRow.objects.order_by("pk").values()), SessionEvent.objects.count()
    assert run_replay(run.pk, scripted()) == "done"
    assert (list(MessageRow.objects.order_by("pk").values()), SessionEvent.objects.count()) == before
    run.refresh_from_db()
    assert (run.status, run.progress_done, run.progress_total) == ("done", 14, 14)
    steps = list(ReplayStep.objects.filter(run=run).order_by("number"))
    assert [step.turn for step in steps] == list(range(1, 15))
    absorbed = [step for step in steps if step.outcome == "absorbed"]
    assert len(absorbed) == run.result["outcomes"]["absorbed"] > 3
    assert MessageRow.objects.filter(pk__in=absorbed[0].edit["archived"]).count() == 3
    assert absorbed[0].edit["inserted"][0]["text"].startswith("[CONTEXT COMPACTION")
    assert absorbed[0].summary_after == "## Key Decisions\n- keep the parser"
    assert absorbed[0].at_position == MessageRow.objects.filter(turn=absorbed[0].turn).latest("position").position
    assert run.result["archived_rows"] == sum(len(step.edit["archived"]) for step in steps)


def test_a_run_again_after_a_crash_begins_anew(talked):
    run = ask(talked)
    run_replay(run.pk, scripted())
    ReplayRun.objects.filter(pk=run.pk).update(status="running")
    run_replay(run.pk, scripted())
    assert ReplayStep.objects.filter(run=run).count() == 14


def test_a_run_that_is_over_is_not_run_again(talked):
    run = ask(talked)
    run_replay(run.pk, scripted())
    first = ReplayStep.objects.filter(run=run).first().pk
    assert run_replay(run.pk, scripted()) == "done"
    assert ReplayStep.objects.filter(run=run).first().pk == first


def test_a_run_can_be_cancelled_before_and_while_it_runs(talked, monkeypatch):
    monkeypatch.setattr(replay_runs, "STEPS_PER_WRITE", 2)
    queued = ask(talked)
    assert cancel_replay(queued.pk)
    assert run_replay(queued.pk, scripted()) == "cancelled"

    class Impatient(ScriptedSummarizer):
        def ask(self, request):
            assert cancel_replay(running.pk)
            return super().ask(request)

    running = ask(talked)
    assert run_replay(running.pk, Impatient([Reply(text="## Key Decisions\n- a", finish_reason="stop")])) == "cancelled"
    assert 0 < ReplayStep.objects.filter(run=running).count() < 14
    assert not cancel_replay(running.pk)


def test_a_run_sees_the_session_as_it_was_when_it_was_asked_for(talked):
    run = ask(talked, "none")
    talked.append(user("later"), assistant("much later"))
    run_replay(run.pk, scripted())
    run.refresh_from_db()
    assert run.result["turns"] == 14


def test_a_policy_that_cannot_be_replayed_fails_with_a_reason(talked):
    run = ask(talked, "batch")
    assert run_replay(run.pk, scripted()) in ("done", "failed")
    run.refresh_from_db()
    assert run.status == "done" or "batch" in run.error


def test_a_fault_of_ours_is_noted_and_loud(talked):
    class Broken(ScriptedSummarizer):
        def ask(self, request):
            raise RuntimeError("boom")

    run = ask(talked)
    with pytest.raises(RuntimeError):
        run_replay(run.pk, Broken([Reply(text="x")]))
    run.refresh_from_db()
    assert (run.status, run.error) == ("failed", "The replay ended with a fault of ours (RuntimeError).")


def test_replays_are_fed_what_was_appended_and_not_what_passes_made(talked):
    ids = [row.pk for row in talked.live()]
    talked.absorb(ids[2:5])
    services.undo_last_pass(talked.session_id)
    talked.absorb(ids[6:9])
    fed = rows_for_replay(talked.session_id, COUNTER)
    assert [row.id for row in fed] == ids
    assert {row.kind for row in fed} == {RowKind.MESSAGE}


class Doubling:
    name = "doubling"

    def count(self, text):
        return 2 * COUNTER.count(text)


def test_rows_are_counted_anew_for_a_counter_that_did_not_count_them(talked):
    stored = rows_for_replay(talked.session_id, COUNTER)[1]
    anew = rows_for_replay(talked.session_id, Doubling())[1]
    assert anew.tokens - 10 == 2 * (stored.tokens - 10)
