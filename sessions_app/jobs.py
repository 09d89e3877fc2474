"""The background tasks: each calls one function of the site and may be run again after a crash.

Names, locks and arguments are `deferring`'s. A worker that dies leaves its job marked as running; `rescue_jobs` finds
such jobs by the missing heartbeat of their worker and puts them back into the queue. A job that could not reach the
database runs again: what it works on would say for ever that it is under way. The jobs at the end of turns stay failed;
`end_turns_left` sees to it that their turns come to their end.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import InterfaceError, OperationalError
from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from compaction.tokens import counter_named
from sessions_app import clock, deferring
from sessions_app.cache_counting import carry_on
from sessions_app.endpoint_tests import run_endpoint_test as run_stored_test
from sessions_app.finalizing import finalize_turns
from sessions_app.import_jobs import run_import_job
from sessions_app.models import PolicyTrial, ReplayRun, Session, TurnStep
from sessions_app.passes.by_hand import make_requested_pass
from sessions_app.passes.passing import Passing
from sessions_app.plays import run_play as run_stored_play
from sessions_app.policy_trials import run_trial as run_policy_trial
from sessions_app.project_deletion import run_project_deletion
from sessions_app.queries.waiting import sessions_left_waiting
from sessions_app.replay_runs import run_replay as run_stored_replay
from sessions_app.services.accounts import forget_ended_logins
from sessions_app.services.chat import settle_silent_answers
from sessions_app.session_policy import policy_of
from sessions_app.summarizers import summarizer_for_policy, summarizer_for_run
from sessions_app.token_counting import site_counter

# A worker says every ten seconds that it lives; the seconds of the schedule below come last.
SILENT_WORKER_SECONDS = 30
# Turns that wait so long without a job get another one.
LEFT_AFTER = timedelta(seconds=15)
# Done jobs are of no use to anybody; failed ones are looked into. The periodic tasks alone make 17,000 jobs a day.
DONE_JOBS_KEPT_HOURS = 24
FAILED_JOBS_KEPT_HOURS = 14 * 24

# One that could note how it ended does nothing when it runs again.
_AGAIN: Final = RetryStrategy(max_attempts=6, exponential_wait=4, retry_exceptions=(OperationalError, InterfaceError))

logger = logging.getLogger(__name__)


@app.task(name=deferring.FINALIZE_TURN)
def finalize_turn(session_id: int) -> None:
    """Make the pass after each finished turn of a session and end the turn. A session that is gone needs nothing."""
    session = Session.objects.select_related("project").filter(pk=session_id).first()
    if session is None:
        return
    counter = site_counter()
    summarizer = summarizer_for_policy(policy_of(session), counter, session.project_id)
    finalize_turns(session_id, summarizer, counter)


@app.task(name=deferring.RUN_PASS, retry=_AGAIN)
def run_pass(session_id: int, step: int, focus: str, request_id: str) -> None:
    """Make one pass that a person asked for. A session that is gone needs nothing."""
    session = Session.objects.select_related("project").filter(pk=session_id).first()
    if session is None:
        return
    counter = site_counter()
    summarizer = summarizer_for_policy(policy_of(session), counter, session.project_id)
    make_requested_pass(session_id, TurnStep(step), Passing(summarizer, counter, focus=focus, request_id=request_id))


@app.task(name=deferring.RUN_REPLAY, retry=_AGAIN)
def run_replay(run_id: int) -> None:
    """Run a simulated replay. A run that is gone needs nothing."""
    run = ReplayRun.objects.filter(pk=run_id).first()
    if run is not None:
        run_stored_replay(run_id, summarizer_for_run(run.summarizer, counter_named(run.token_counter)))


@app.task(name=deferring.RUN_IMPORT, retry=_AGAIN)
def run_import(job_id: int) -> None:
    """Read the files of an import."""
    run_import_job(job_id)


@app.task(name=deferring.RUN_ENDPOINT_TEST, retry=_AGAIN)
def run_endpoint_test(test_id: int) -> None:
    """Ask the endpoints of a test."""
    run_stored_test(test_id, site_counter())


@app.task(name=deferring.RUN_PLAY, retry=_AGAIN)
def run_play(play_id: int, ticket: int) -> None:
    """Take the steps of a play that are due."""
    run_stored_play(play_id, ticket, site_counter())


@app.task(name=deferring.RUN_TRIAL, retry=_AGAIN)
def run_trial(trial_id: int) -> None:
    """Try settings on a project's newest sessions. A trial that is gone needs nothing."""
    if PolicyTrial.objects.filter(pk=trial_id).exists():
        run_policy_trial(trial_id, site_counter())


@app.task(name=deferring.DELETE_PROJECT, retry=_AGAIN)
def delete_project(deletion_id: int) -> None:
    """Delete a project with everything in it."""
    run_project_deletion(deletion_id)


@app.periodic(cron="17 * * * *")
@app.task(name="sessions_app.jobs.forget_logins", queueing_lock="forget_logins", pass_context=False)
def forget_logins(timestamp: int) -> None:
    """Delete the logins that are over, once an hour."""
    forget_ended_logins()


@app.task(name=deferring.COUNT_CACHE)
def count_cache(account_id: int) -> None:
    """Carry an account of the prompt cache on. One that is gone needs nothing."""
    carry_on(account_id)


@app.periodic(cron="* * * * * */15")
@app.task(name="sessions_app.jobs.rescue_jobs", queueing_lock="rescue", pass_context=False)
async def rescue_jobs(timestamp: int) -> None:
    """Put the jobs of workers that died back into the queue."""
    for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=SILENT_WORKER_SECONDS):
        logger.warning("job %s (%s) was left by a worker that is gone; it runs again", job.id, job.task_name)
        await app.job_manager.retry_job(job, retry_at=datetime.now(UTC))


@app.periodic(cron="17 * * * *")
@app.task(name="sessions_app.jobs.forget_jobs", queueing_lock="forget_jobs", pass_context=False)
async def forget_jobs(timestamp: int) -> None:
    """Delete jobs that ended long ago: the queue must not grow with the age of the site."""
    await app.job_manager.delete_old_jobs(DONE_JOBS_KEPT_HOURS)
    await app.job_manager.delete_old_jobs(
        FAILED_JOBS_KEPT_HOURS, include_failed=True, include_cancelled=True, include_aborted=True
    )


@app.periodic(cron="* * * * * */15")
@app.task(name="sessions_app.jobs.settle_answers", queueing_lock="settle-answers", pass_context=False)
def settle_answers(timestamp: int) -> None:
    """End the answers of the chat whose process is gone."""
    settle_silent_answers(site_counter())


@app.periodic(cron="* * * * * */15")
@app.task(name="sessions_app.jobs.end_turns_left", queueing_lock="end_turns_left", pass_context=False)
def end_turns_left(timestamp: int) -> None:
    """Ask once more for the end of turns whose job failed or was lost."""
    for session_id in sessions_left_waiting(clock.now() - LEFT_AFTER):
        logger.warning("session %s has turns that nobody ends; asking for it again", session_id)
        deferring.defer_finalize_turn(session_id)
