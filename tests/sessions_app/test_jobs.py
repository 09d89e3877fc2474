"""Jobs in a real queue with a real worker."""

import asyncio
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from procrastinate.contrib.django import app
from row_builder import NewMessage, RowBuilder, assistant, call, result, user

from compaction.endpoints.gates import PROCESS_GATES
from compaction.messages import Message, Role
from compaction.wording import wording_from_json
from sessions_app import clock, deferring, import_jobs, jobs, services
from sessions_app.jobs import LEFT_AFTER
from sessions_app.models import CompactionPass, ImportJob, MessageRow, ReplayRun, Session, Turn, TurnStep
from sessions_app.pages.imports import read_import
from sessions_app.queries.calls import totals_of_session
from sessions_app.queries.totals import counted, recounted
from sessions_app.services.imports import UploadedFile, cancel_import, request_import
from sessions_app.services.plays import PlaySource, change_rate, request_play
from sessions_app.services.replays import request_replay
from sessions_app.summarizers import operator_rules
from tests.compaction.loopback import completion, serving
from tests.patience import attempts

pytestmark = pytest.mark.django_db(transaction=True)
FIRST = datetime(2026, 3, 1, 9, tzinfo=UTC)
POLICY = {"compression": {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5}}


def work():
    """Let workers empty the queue. One goes home when no job is free, so they are called until none waits."""

    for _ in range(30):
        work_once()
        if "todo" not in statuses(""):
            return
    raise AssertionError("jobs are left in the queue")


def work_once():
    async def run():
        with app.replace_connector(app.connector.get_worker_connector()) as worker:
            async with worker.open_async():
                await worker.run_worker_async(wait=False, install_signal_handlers=False, listen_notify=False)

    asyncio.run(run())


def statuses(task):
    with connection.cursor() as cursor:
        cursor.execute("SELECT status FROM procrastinate_jobs WHERE task_name LIKE %s ORDER BY id", [f"%{task}"])
        return [status for (status,) in cursor.fetchall()]


@pytest.fixture(autouse=True)
def empty_queue(db):
    """Tests clear the tables of the site between them, not those of the queue."""
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")


@pytest.fixture
def session(project):
    services.save_policy(project.pk, POLICY, None)
    project.refresh_from_db()
    return services.create_session(project, window_tokens=8_000)


@pytest.fixture
def talked(rows):
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    for number in range(9):
        name = f"c{number}"
        rows.append(user(f"question {number}"), call(name), result(name, f"line of {name} " * 120), assistant("done"))
        services.finish_turn(rows.session_id)
    return rows


def test_a_play_that_is_made_faster_does_not_wait_for_the_end_of_its_old_pause(talked):
    for row in MessageRow.objects.filter(session_id=talked.session_id):
        MessageRow.objects.filter(pk=row.pk).update(at=FIRST + timedelta(seconds=25 * row.position))
    recorded = Session.objects.get(pk=talked.session_id)
    play = request_play(recorded.project, PlaySource("A talk", recorded), 1.0, "A talk (played)")
    work_once()
    play.refresh_from_db()
    assert play.steps_done == 1 and play.next_at > timezone.now() + timedelta(seconds=15)
    assert change_rate(play.pk, 1_000.0)
    for _ in attempts("the play did not go on"):
        work_once()
        play.refresh_from_db()
        if play.steps_done > 1:
            break
    assert play.steps_done > 1


def test_a_worker_makes_the_passes_that_finished_turns_wait_for(talked):
    work()
    assert CompactionPass.objects.filter(session_id=talked.session_id, committed=True).count() > 0
    assert Turn.objects.filter(ended_at__isnull=True).count() == 0
    assert set(statuses("finalize_turn")) == {"succeeded"}


def test_a_worker_makes_the_pass_that_a_person_asked_for(talked):
    work()
    request_id = services.request_pass(talked.session_id, TurnStep.BATCH, "the tests")
    work()
    newest = CompactionPass.objects.filter(session_id=talked.session_id).order_by("-number").first()
    assert (newest.kind, newest.trigger, newest.foreign_id, newest.committed) == ("batch", "manual", request_id, True)
    assert "the tests" in newest.prompt_user
    assert statuses("run_pass") == ["succeeded"]


def test_a_worker_asks_the_endpoint_of_the_project_and_compacts_what_is_over_the_threshold(project, settings):
    settings.OUTBOUND_RULES = operator_rules()
    summary = completion("## Key Decisions\n- go on", usage={"prompt_tokens": 700, "completion_tokens": 9})
    with serving(summary) as server:
        auxiliary = {"compression": {"base_url": server.url, "model": "small-model"}}
        compression = {"threshold_floor": "off", "threshold": 0.5}
        services.save_policy(project.pk, {"compression": compression, "auxiliary": auxiliary}, None)
        project.refresh_from_db()
        rows = RowBuilder(services.create_session(project, window_tokens=8_000).pk)
        for number in range(14):
            name = f"c{number}"
            rows.append(user(f"question {number}"), call(name), result(name, f"line of {name} " * 120))
            rows.append(assistant("done"))
            services.finish_turn(rows.session_id)
        work()
        assert {asked.body["model"] for asked in server.asked} == {"small-model"}
    PROCESS_GATES.forget()
    assert {(one.kind, one.outcome) for one in CompactionPass.objects.all()} == {("batch", "compacted")}
    assert rows.session.live_tokens < 4_000
    assert totals_of_session(rows.session_id).input_tokens == 700 * CompactionPass.objects.count()
    assert counted(rows.session) == recounted(rows.session_id)


def test_a_worker_runs_a_replay(talked):
    run = request_replay(talked.session, "micro", token_counter="rough")
    work()
    run.refresh_from_db()
    assert (run.status, run.progress_done) == ("done", 9)


def test_a_job_whose_session_or_run_is_gone_ends_quietly(talked):
    run = request_replay(talked.session, "micro")
    ReplayRun.objects.filter(pk=run.pk).delete()
    services.request_pass(talked.session_id, TurnStep.MICRO)
    services.delete_session(talked.session_id)
    work()
    assert {*statuses("finalize_turn"), *statuses("run_replay"), *statuses("run_pass")} == {"succeeded"}
    assert not Session.objects.exists()


@pytest.fixture
def uploads(tmp_path):
    paths = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    paths[0].write_text('{"role": "user", "content": "hello"}\n{"role": "assistant", "content": "hi"}\n')
    paths[1].write_text("no transcript")
    return [UploadedFile(path.name, str(path), path.stat().st_size) for path in paths]


def test_a_worker_reads_uploads_and_removes_them_when_it_has_told_what_came_of_each(project, uploads, tmp_path):
    job = request_import(project, uploads)
    work()
    job.refresh_from_db()
    assert (job.status, job.progress_done, job.progress_total) == ("done", 2, 2)
    assert [entry["path"] for entry in job.report] == ["one.jsonl", "two.jsonl"]
    assert [bool(entry["error"]) for entry in job.report] == [False, True]
    assert str(tmp_path) not in job.report[1]["error"]
    assert MessageRow.objects.filter(session__project=project).count() == 2
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_import_does_not_begin_and_leaves_no_upload(project, uploads, tmp_path):
    job = request_import(project, uploads)
    assert cancel_import(job.pk)
    work()
    assert ImportJob.objects.get().status == "cancelled"
    assert not Session.objects.exists()
    assert list(tmp_path.iterdir()) == []


def test_an_import_that_breaks_is_told_so_and_leaves_no_upload(project, uploads, tmp_path, monkeypatch):
    monkeypatch.setattr(import_jobs, "import_files", lambda *arguments: 1 / 0)
    request_import(project, uploads)
    work()
    assert ImportJob.objects.get().status == "failed"
    assert list(tmp_path.iterdir()) == []


def test_the_job_of_a_worker_that_died_is_run_by_the_next_one(talked):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '5 minutes')")
        cursor.execute(
            "UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT max(id) FROM procrastinate_workers)"
            " WHERE id = (SELECT min(id) FROM procrastinate_jobs)"
        )
    rescue()
    assert statuses("finalize_turn")[0] != "doing"
    work()
    assert set(statuses("finalize_turn")) == {"succeeded"}
    assert Turn.objects.filter(ended_at__isnull=True).count() == 0


def test_the_job_of_a_worker_that_lives_is_left_to_it(talked):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now())")
        cursor.execute(
            "UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT max(id) FROM procrastinate_workers)"
            " WHERE id = (SELECT min(id) FROM procrastinate_jobs)"
        )
    rescue()
    # The worker may have asked for another rescue of its own while it was there.
    assert statuses("rescue_jobs")[0] == "succeeded"
    assert statuses("finalize_turn")[0] == "doing"


def test_jobs_that_ended_long_ago_are_forgotten_failed_ones_later_and_waiting_ones_never(talked):
    work()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE procrastinate_jobs SET status = 'failed' WHERE id = (SELECT min(id) FROM procrastinate_jobs)"
        )
    app.configure_task(deferring.FINALIZE_TURN, schedule_in={"hours": 1}).defer(session_id=talked.session_id)
    forget_jobs_of("1 hour")
    assert statuses("finalize_turn") == ["failed", *["succeeded"] * 8, "todo"]
    forget_jobs_of("24 hours")
    assert statuses("finalize_turn") == ["failed", "todo"]
    forget_jobs_of("14 days")
    assert statuses("finalize_turn") == ["todo"]


def test_a_job_that_could_not_reach_the_database_runs_again_and_ends_what_it_began(talked, monkeypatch):
    run = request_replay(Session.objects.get(pk=talked.session_id), "micro", window_tokens=8_000)
    whole, attempts = jobs.run_stored_replay, []

    def at_the_second_attempt(*arguments):
        attempts.append(arguments)
        if len(attempts) == 1:
            ReplayRun.objects.filter(pk=run.pk).update(status="running")
            raise OperationalError("the server closed the connection unexpectedly")
        whole(*arguments)

    monkeypatch.setattr(jobs, "run_stored_replay", at_the_second_attempt)
    work_once()
    assert statuses("run_replay") == ["todo"] and len(attempts) == 1
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET scheduled_at = now() WHERE task_name LIKE %s", ["%run_replay"])
    work()
    assert statuses("run_replay") == ["succeeded"] and len(attempts) == 2
    run.refresh_from_db()
    assert run.status == "done"


def forget_jobs_of(age):
    """Let so much time pass, and run the periodic task as a worker would."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_events SET at = at - %s::interval", [age])
    app.configure_task("sessions_app.jobs.forget_jobs").defer(timestamp=0)
    work_once()


def test_turns_whose_job_failed_are_ended_by_another_one(talked):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE procrastinate_jobs SET status = 'failed'")
    end_turns_left()
    assert statuses("finalize_turn") == ["failed"] * 9, "turns that wait for a moment only are nobody's business"
    Turn.objects.update(reply_sent_at=clock.now() - LEFT_AFTER)
    end_turns_left()
    work()
    assert statuses("finalize_turn") == [*["failed"] * 9, "succeeded"]
    assert Turn.objects.filter(ended_at__isnull=True).count() == 0


def test_turns_whose_job_waits_in_the_queue_get_no_other_one(talked):
    Turn.objects.update(reply_sent_at=clock.now() - LEFT_AFTER)
    before = statuses("finalize_turn")
    jobs.end_turns_left(0)
    assert statuses("finalize_turn") == before


def end_turns_left():
    app.configure_task("sessions_app.jobs.end_turns_left").defer(timestamp=0)
    work_once()


def rescue():
    """Run the periodic task as a worker would."""
    app.configure_task("sessions_app.jobs.rescue_jobs").defer(timestamp=0)
    work_once()


def imported(project, path):
    job = request_import(project, [UploadedFile(path.name, str(path), path.stat().st_size)])
    import_jobs.run_import_job(job.pk)
    job.refresh_from_db()
    return job


def test_the_files_of_an_archive_are_counted_one_by_one_and_an_untitled_session_gets_its_first_words(project, tmp_path):
    path = tmp_path / "three.zip"
    with zipfile.ZipFile(path, "w") as opened:
        for number in range(3):
            opened.writestr(f"{number}.jsonl", f'{{"role": "user", "content": "question {number}"}}\n')
    job = imported(project, path)
    page = read_import(job)
    assert (job.status, job.progress_done, page.files_total, page.progress_pct) == ("done", 3, 3, 100.0)
    titles = [session.title for file in page.files for session in file.sessions]
    assert titles == ["question 0", "question 1", "question 2"]


def test_an_import_in_which_nothing_could_be_read_has_failed(project, tmp_path):
    path = tmp_path / "cut.zip"
    path.write_bytes(b"PK\x03\x04" + bytes(40))
    job = imported(project, path)
    assert (job.status, job.error) == ("failed", "Nothing could be read. Each file says why.")
    assert "damaged" in wording_from_json(job.report[0]["error"])
    assert read_import(job).unread_files == 1
