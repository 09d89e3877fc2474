"""The steps of a turn's end together: micro pass, batch over the threshold, proactive prune."""

import json
import logging

import pytest
from django.db import connection
from row_builder import COUNTER
from talk import SUMMARY, passes

from compaction.batch_telemetry import BATCH_PREFIX
from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Purpose, Reply
from sessions_app import services
from sessions_app.finalizing import finalize_turns
from sessions_app.mapping import state_of
from sessions_app.models import MessageRow, SummaryRevision, Turn, TurnStep
from sessions_app.passes.passing import Passing
from sessions_app.passes.running import run_pass
from sessions_app.queries.totals import counted, recounted
from sessions_app.services import Stale

pytestmark = pytest.mark.django_db
BATCH = {"compression": {"threshold_floor": "off", "threshold": 0.5}}
BOTH = {"compression": {**BATCH["compression"], "micro_compact": True}}
WINDOW_TOKENS = 8_000
THRESHOLD_TOKENS = 4_000


@pytest.fixture
def project(project):
    services.save_policy(project.pk, BATCH, None)
    project.refresh_from_db()
    return project


@pytest.fixture
def session(project):
    return services.create_session(project, window_tokens=WINDOW_TOKENS, model="main")


def fill(talk, words=120, up_to_tokens=THRESHOLD_TOKENS):
    """Turns until the last one, which is not finalized, has brought the context so far."""
    number = 0
    while True:
        talk.turn(number, words)
        number += 1
        if talk.rows.session.live_tokens >= up_to_tokens:
            return number
        talk.finalize()


def everything(rows):
    return list(MessageRow.objects.filter(session_id=rows.session_id).order_by("pk").values())


def test_a_session_over_its_threshold_is_compacted_after_the_turn(talk, rows):
    assert rows.session.threshold_tokens == THRESHOLD_TOKENS
    fill(talk)
    before = rows.session.live_tokens
    talk.finalize()
    [done] = passes(rows)
    assert (done.kind, done.outcome, done.trigger, done.committed) == ("batch", "compacted", "threshold", True)
    assert done.tokens_before == before >= THRESHOLD_TOKENS > rows.session.live_tokens == done.tokens_after
    assert "user rows archived: " in " ".join(done.notes)
    assert rows.session.batch_passes == 1
    [summary] = [row for row in rows.live() if row.kind == "batch_summary"]
    assert SummaryRevision.objects.get(row=summary).tokens == summary.tokens > 0
    assert counted(rows.session) == recounted(rows.session_id)
    assert Turn.objects.filter(ended_at__isnull=True).count() == 0


def test_below_the_threshold_nothing_happens_and_nothing_is_logged(talk, rows, caplog):
    with caplog.at_level(logging.INFO, "hermes.compaction"):
        talk.turns(3)
    assert not passes(rows)
    assert not caplog.messages


def test_the_line_of_a_batch_is_logged_after_the_commit_and_stored_with_the_pass(talk, rows, caplog):
    fill(talk)
    with caplog.at_level(logging.INFO, "hermes.compaction"):
        talk.finalize()
    [line] = [message for message in caplog.messages if message.startswith(BATCH_PREFIX)]
    logged = json.loads(line.removeprefix(BATCH_PREFIX))
    stored = passes(rows)[0].telemetry
    assert (logged["commit_status"], logged["trigger_source"]) == ("committed", "auto")
    assert logged["commit_ms"] >= 0
    measured_later = ("commit_ms", "total_duration_ms")
    assert {key: logged[key] for key in logged if key not in measured_later} == {
        key: stored[key] for key in stored if key not in measured_later
    }
    assert logged["messages_after"] == rows.session.live_rows


def test_a_batch_that_fails_changes_no_row_and_the_next_turn_waits_for_the_cool_down(talk, rows):
    talk.summarizer = ScriptedSummarizer([Reply(error="http_500")], model="small")
    number = fill(talk)
    before = everything(rows)
    talk.finalize()
    assert everything(rows) == before
    state = state_of(rows.session.state)
    assert state.cooldown_until is not None
    talk.turns(1, first=number, words=1)
    assert [(one.outcome, one.reason, one.committed) for one in passes(rows)] == [
        ("aborted", "http_500", False),
        ("blocked", "cooldown", False),
    ]
    assert (rows.session.failed_passes, rows.session.batch_passes) == (1, 0)
    assert Turn.objects.filter(ended_at__isnull=True).count() == 0


def test_when_the_window_is_nearly_full_a_failed_batch_is_made_without_a_model(talk, rows):
    talk.summarizer = ScriptedSummarizer([Reply(error="timeout")], model="small")
    services.hold_passes(rows.session_id)
    fill(talk, up_to_tokens=WINDOW_TOKENS * 0.95)
    services.resume_passes(rows.session_id)
    talk.finalize()
    [done] = passes(rows)
    assert (done.outcome, done.reason, done.committed) == ("fallback", "timeout", True)
    assert rows.session.live_tokens < THRESHOLD_TOKENS


def test_the_last_resort_needs_no_window_of_the_summarizer(talk, rows):
    class Narrow(ScriptedSummarizer):
        window_tokens = 60

    talk.summarizer = Narrow([SUMMARY], model="small")
    services.hold_passes(rows.session_id)
    fill(talk, up_to_tokens=WINDOW_TOKENS * 0.95)
    services.resume_passes(rows.session_id)
    talk.finalize()
    [done] = passes(rows)
    assert (done.outcome, done.reason) == ("fallback", "aux_window_too_small")
    assert "window of 60 tokens" in done.detail
    assert talk.summarizer.asked == 0
    assert rows.session.live_tokens < THRESHOLD_TOKENS


def test_the_micro_pass_comes_before_the_batch_after_the_same_turn(talk, rows, project):
    number = fill(talk)
    services.save_policy(project.pk, BOTH, None)
    talk.finalize()
    assert [(one.kind, one.turn) for one in passes(rows)] == [("micro", number), ("batch", number)]
    assert rows.live_micro() is None
    assert counted(rows.session) == recounted(rows.session_id)


def test_a_proactive_prune_is_made_after_a_turn_without_asking_anybody(talk, rows, project):
    settings = {"proactive_prune_tokens": 100, "proactive_prune_min_reclaim_tokens": 10}
    services.save_policy(project.pk, {"compression": {**settings, "proactive_prune_min_result_chars": 200}}, None)
    talk.turns(12, words=60)
    done = passes(rows)
    assert {(one.kind, one.outcome, one.trigger) for one in done} == {("prune", "pruned", "threshold")}
    assert done[0].telemetry["event"] == "prune"
    assert rows.session.prune_passes == len(done)
    assert talk.summarizer.asked == 0
    assert counted(rows.session) == recounted(rows.session_id)


def test_a_crash_between_two_steps_does_not_repeat_the_first(talk, rows, project):
    class Crash(BaseException):
        pass

    class Crashing(ScriptedSummarizer):
        def ask(self, request):
            if request.purpose is Purpose.BATCH:
                raise Crash
            return super().ask(request)

    fill(talk)
    services.save_policy(project.pk, BOTH, None)
    talk.summarizer = Crashing([SUMMARY], model="small")
    with pytest.raises(Crash):
        talk.finalize()
    assert [one.kind for one in passes(rows)] == ["micro"]
    talk.summarizer = ScriptedSummarizer([SUMMARY], model="small")
    assert talk.finalize() == 1
    assert [one.kind for one in passes(rows)] == ["micro", "batch"]


def test_a_step_of_a_turn_is_stored_once_whoever_runs_it_again(talk, rows):
    fill(talk)
    stale_turn = Turn.objects.filter(session_id=rows.session_id).order_by("-number").first()
    talk.finalize()
    before, number = everything(rows), len(passes(rows))
    services.save_policy(rows.session.project_id, {"compression": {"threshold_tokens": 1_000}}, None)
    again = run_pass(rows.session_id, TurnStep.BATCH, Passing(talk.summarizer, COUNTER, stale_turn))
    assert isinstance(again, Stale)
    assert (everything(rows), len(passes(rows))) == (before, number)


def test_when_the_micro_pass_breaks_the_batch_is_made_all_the_same(talk, rows, project, caplog):
    class Breaking(ScriptedSummarizer):
        def ask(self, request):
            if request.purpose is not Purpose.BATCH:
                raise RuntimeError("no such thing")
            return super().ask(request)

    fill(talk)
    services.save_policy(project.pk, BOTH, None)
    talk.summarizer = Breaking([SUMMARY], model="small")
    talk.finalize()
    assert "batch" in [one.kind for one in passes(rows)]
    assert "RuntimeError" in rows.session.last_error
    assert Turn.objects.filter(ended_at__isnull=True).count() == 0


def test_no_transaction_is_open_while_a_batch_is_asked_for(talk, rows):
    seen = []

    class Watching(ScriptedSummarizer):
        def ask(self, request):
            seen.append((request.purpose, len(connection.savepoint_ids)))
            return super().ask(request)

    talk.summarizer = Watching([SUMMARY], model="small")
    fill(talk)
    depth = len(connection.savepoint_ids)
    talk.finalize()
    assert seen == [(Purpose.BATCH, depth)]


def test_a_session_that_ended_is_not_compacted_any_more_and_its_turn_ends(talk, rows):
    fill(talk)
    services.end_session(rows.session_id, "user_exit")
    assert finalize_turns(rows.session_id, talk.summarizer, COUNTER) > 0
    assert not passes(rows)
    assert Turn.objects.filter(ended_at__isnull=True).count() == 0


def test_a_pass_names_the_settings_it_was_made_under_though_others_were_saved_meanwhile(talk, rows, project):
    class Saving(ScriptedSummarizer):
        def ask(self, request):
            services.save_policy(project.pk, BOTH, None, "while a pass was running")
            return super().ask(request)

    talk.summarizer = Saving([SUMMARY], model="small")
    fill(talk)
    talk.finalize()
    assert passes(rows)[0].policy_revision.settings == BATCH
