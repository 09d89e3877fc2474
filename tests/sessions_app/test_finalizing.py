"""The end of a turn on a stored session, with the engine's own plan and a summarizer whose words are scripted."""

import json
import logging

import pytest
from django.db import connection, transaction
from row_builder import NewMessage, assistant, user
from talk import SUMMARY, Talk, passes

from compaction.messages import Message, Role
from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Reply
from sessions_app import services
from sessions_app.mapping import state_of
from sessions_app.models import MessageRow, SessionEvent, Turn
from sessions_app.queries.totals import counted, recounted

pytestmark = pytest.mark.django_db
POLICY = {"compression": {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5}}


@pytest.fixture
def project(project):
    services.save_policy(project.pk, POLICY, None)
    project.refresh_from_db()
    return project


@pytest.fixture
def session(project):
    """A small window: its tail holds a few turns, so that passes begin early."""
    return services.create_session(project, window_tokens=8_000, model="main")


def test_passes_begin_when_the_tail_is_full_and_keep_the_context_steady(talk, rows):
    talk.turns(12)
    done = passes(rows)
    assert {one.outcome for one in done} == {"absorbed"}
    assert 3 < len(done) < 12
    assert len(SessionEvent.objects.filter(session_id=rows.session_id, kind="pass")) == len(done)
    live = [event.live_tokens for event in SessionEvent.objects.filter(kind="pass").order_by("seq")]
    assert max(live) - min(live) < 400
    assert Turn.objects.filter(ended_at__isnull=True).count() == 0
    assert counted(rows.session) == recounted(rows.session_id)
    assert MessageRow.objects.filter(role="user", died_seq__isnull=False).count() == 0


def test_a_pass_is_stored_with_what_it_was_made_under(talk, rows, project):
    talk.turns(12)
    stored = passes(rows)[0]
    assert (stored.trigger, stored.main_model, stored.aux_model) == ("turn", "main", "small")
    assert stored.policy_revision.settings == POLICY
    assert stored.threshold_tokens == rows.session.threshold_tokens
    assert stored.tokens_before == stored.counted_tokens_before
    assert stored.tokens_after == stored.counted_tokens_after
    assert stored.prompt_user
    assert stored.reply_text == SUMMARY.text
    assert stored.duration_ms is not None
    assert stored.telemetry["session_id"] == rows.session.public_id
    assert stored.zones["head_rows"] > 0
    assert stored.exchanges[0]["rows"] == 3
    assert Turn.objects.get(session=rows.session, number=stored.turn).finalizing_at is not None


def test_a_line_of_telemetry_is_logged_after_the_commit(talk, rows, caplog):
    with caplog.at_level(logging.INFO, "hermes.compaction"):
        talk.turns(12)
    lines = [line for line in caplog.messages if line.startswith("micro compaction telemetry: ")]
    assert len(lines) == len(passes(rows))
    assert json.loads(lines[0].split(": ", 1)[1]) == {**passes(rows)[0].telemetry}


def test_s10_after_a_restart_the_next_pass_goes_on_behind_the_newest_summary(talk, rows):
    talk.turns(10)
    absorbed = {row for one in passes(rows) for row in one.edit["archived"]}
    restarted = Talk(rows)
    restarted.turns(2, first=10)
    later = passes(rows)[-2:]
    newly = {row for one in later for row in one.edit["archived"]}
    assert newly
    assert not newly & absorbed
    told = {row.content.split(" ")[2] for row in MessageRow.objects.filter(pk__in=absorbed, role="tool")}
    assert told
    assert not [name for name in told for one in later if f"line of {name} " in one.prompt_user]
    assert later[0].cursor_before_position > max(MessageRow.objects.get(pk=row).position for row in absorbed)


def test_finalizing_again_after_a_crash_counts_and_absorbs_nothing_twice(talk, rows):
    talk.turns(10)
    state, number = rows.session.state, len(passes(rows))
    assert talk.finalize() == 0
    assert (rows.session.state, len(passes(rows))) == (state, number)


def test_a_failing_summarizer_changes_no_row_and_the_turn_ends(rows):
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    talk = Talk(rows, Reply(error="timeout"))
    talk.turns(10)
    assert MessageRow.objects.filter(died_seq__isnull=False).count() == 0
    assert {one.outcome for one in passes(rows)} == {"summarize_failed", "exchange_skipped"}
    assert rows.session.failed_passes == len(passes(rows)) > 0
    assert Turn.objects.filter(ended_at__isnull=True).count() == 0


def test_s02_a_pass_that_cannot_be_stored_shows_on_the_session_and_the_session_goes_on(talk, rows, caplog):
    talk.turns(4)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION pg_temp.fail() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'disk full'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER fail BEFORE INSERT ON sessions_app_compactionpass"
            " FOR EACH ROW EXECUTE FUNCTION pg_temp.fail()"
        )
    with caplog.at_level(logging.INFO, "hermes.compaction"):
        talk.turns(6, first=4)
    assert not passes(rows)
    assert not [line for line in caplog.messages if "telemetry" in line]
    assert "could not be stored" in rows.session.last_error
    assert "disk full" not in rows.session.last_error
    assert "pass after turn 6 failed (ProgrammingError)" in caplog.text
    assert "disk full" not in caplog.text, "what the database says can hold row contents"
    assert Turn.objects.filter(ended_at__isnull=True).count() == 0
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER fail ON sessions_app_compactionpass")
    talk.turns(1, first=10)
    assert passes(rows)


def test_no_transaction_is_open_while_the_summarizer_thinks(talk, rows):
    seen = []

    class Watching(ScriptedSummarizer):
        def ask(self, request):
            seen.append(len(connection.savepoint_ids))
            return super().ask(request)

    talk.summarizer = Watching([SUMMARY], model="small")
    depth = len(connection.savepoint_ids)
    talk.turns(10)
    assert seen
    assert set(seen) == {depth}


def test_rows_that_arrive_while_the_summarizer_thinks_are_kept(talk, rows):
    class Slow(ScriptedSummarizer):
        def ask(self, request):
            rows.append(user("meanwhile"))
            return super().ask(request)

    talk.turns(6)
    talk.summarizer = Slow([SUMMARY], model="small")
    talk.turn(6)
    talk.finalize()
    assert passes(rows)[-1].committed
    assert rows.texts()[-1] == "meanwhile"


def test_a_held_session_has_no_passes_until_the_turns_have_gone_by(talk, rows):
    talk.turns(8)
    services.undo_last_pass(rows.session_id, hold_turns=2)
    before = len(passes(rows))
    talk.turns(2, first=8)
    assert len(passes(rows)) == before
    talk.turns(1, first=10)
    assert len(passes(rows)) == before + 1
    assert not rows.session.is_held


def test_an_interrupted_turn_gets_no_pass(talk, rows):
    talk.turns(8)
    before = len(passes(rows))
    rows.append(user("stop me"), assistant("I was sa"))
    services.finish_turn(rows.session_id, interrupted=True)
    talk.finalize()
    assert len(passes(rows)) == before


def test_micro_compaction_is_off_unless_a_project_switches_it_on(talk, rows, project):
    services.save_policy(project.pk, {}, None)
    talk.turns(10)
    assert not passes(rows)


class Rival(ScriptedSummarizer):
    """Changes the session while it is asked, so many times."""

    def __init__(self, rows, times):
        super().__init__([SUMMARY], model="small")
        self.rows, self.times = rows, times

    def ask(self, request):
        if self.asked < self.times:
            rows = self.rows
            with transaction.atomic():
                services.store_state(rows.session_id, state_of(rows.session.state), rows.session.compaction_revision)
                rows.absorb([rows.live()[4].pk], "the rival's")
        return super().ask(request)


def test_a_pass_after_a_turn_that_was_overtaken_is_planned_again(talk, rows):
    talk.turns(6)
    before = len(passes(rows))
    talk.summarizer = Rival(rows, times=1)
    talk.turn(6)
    talk.finalize()
    assert talk.summarizer.asked == 2
    assert len(passes(rows)) == before + 2
    assert rows.live_micro().content != "the rival's"
    assert counted(rows.session) == recounted(rows.session_id)
    assert not rows.session.last_error


def test_a_pass_that_is_overtaken_every_time_leaves_no_trace_and_the_session_says_so(talk, rows):
    talk.turns(9)
    before = len(passes(rows))
    talk.summarizer = Rival(rows, times=3)
    talk.turn(9)
    talk.finalize()
    assert len(passes(rows)) == before + 3
    assert rows.live_micro().content == "the rival's"
    assert "kept changing" in rows.session.last_error
    assert counted(rows.session) == recounted(rows.session_id)
