"""What the health page says of the workers and of the jobs that wait for them."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from sessions_app.deferring import defer_finalize_turn
from sessions_app.pages.health import LATE_JOB, State, jobs, jobs_run, workers

pytestmark = pytest.mark.django_db


def execute(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def worker_heard(ago):
    execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (%s)", timezone.now() - ago)


def job_waiting(ago, scheduled_at=None):
    defer_finalize_turn(1)
    execute("UPDATE procrastinate_jobs SET lock = NULL, queueing_lock = NULL, scheduled_at = %s", scheduled_at)
    execute("UPDATE procrastinate_events SET at = %s", timezone.now() - ago)


def test_without_a_worker_none_runs_and_when_one_did_is_unknown():
    assert workers() == (State.BAD, "none runs; when the last one did is unknown")


def test_workers_that_live_are_counted_and_those_that_died_are_not():
    worker_heard(timedelta(minutes=5))
    assert workers() == (State.BAD, "none runs: the last heartbeat was 5 m 0 s ago")
    worker_heard(timedelta(seconds=4))
    assert workers() == (State.GOOD, "1 runs, last heartbeat 4 s ago")
    worker_heard(timedelta(seconds=9))
    assert workers()[1].startswith("2 run, last heartbeat ")


def test_the_oldest_job_that_is_due_says_how_long_it_has_waited():
    assert jobs() == (State.GOOD, "0 waiting, 0 set for later, 0 running, 0 failed")
    job_waiting(timedelta(seconds=40))
    assert jobs() == (
        State.GOOD,
        "1 waiting, 0 set for later, 0 running, 0 failed; the oldest has waited for 40 s",
    )
    assert jobs_run() == (State.GOOD, "none waits for long")
    execute("UPDATE procrastinate_events SET at = %s", timezone.now() - 2 * LATE_JOB)
    state, words = jobs()
    assert state is State.BAD and words.endswith(": does a worker run?")
    assert jobs_run()[0] is State.BAD


def test_a_job_that_is_set_for_later_does_not_wait_before():
    job_waiting(timedelta(hours=1), scheduled_at=timezone.now() + timedelta(hours=1))
    assert jobs() == (State.GOOD, "0 waiting, 1 set for later, 0 running, 0 failed")
    execute("UPDATE procrastinate_jobs SET scheduled_at = %s", timezone.now() - timedelta(seconds=30))
    assert jobs()[1].endswith("the oldest has waited for 30 s")


def test_since_when_a_job_waits_is_unknown_when_nobody_noted_it():
    job_waiting(timedelta(seconds=40))
    execute("DELETE FROM procrastinate_events")
    state, words = jobs()
    assert state is State.UNKNOWN and words.endswith("since when the oldest waits is unknown")
