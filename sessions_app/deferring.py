"""How jobs are asked for: names, locks and arguments of the tasks in `jobs`.

Deferring writes a row with the connection of the caller, so a job asked for inside a transaction exists exactly when
the transaction commits. Jobs of one session share a lock and run one after the other.
"""

from __future__ import annotations

from typing import Final

from procrastinate.contrib.django import app

FINALIZE_TURN: Final = "sessions_app.jobs.finalize_turn"
RUN_PASS: Final = "sessions_app.jobs.run_pass"
RUN_REPLAY: Final = "sessions_app.jobs.run_replay"
RUN_IMPORT: Final = "sessions_app.jobs.run_import"
RUN_PLAY: Final = "sessions_app.jobs.run_play"
RUN_ENDPOINT_TEST: Final = "sessions_app.jobs.run_endpoint_test"
RUN_TRIAL: Final = "sessions_app.jobs.run_trial"
DELETE_PROJECT: Final = "sessions_app.jobs.delete_project"
COUNT_CACHE: Final = "sessions_app.jobs.count_cache"


def session_lock(session_id: int) -> str:
    """The lock under which jobs write a session."""
    return f"session-{session_id}"


def defer_finalize_turn(session_id: int) -> None:
    """Ask for the passes after the finished turns of a session."""
    app.configure_task(FINALIZE_TURN, lock=session_lock(session_id)).defer(session_id=session_id)


def defer_pass(session_id: int, step: int, focus: str, request_id: str) -> None:
    """Ask for one pass of a session, by hand. step: the number of a `TurnStep`."""
    job = app.configure_task(RUN_PASS, lock=session_lock(session_id))
    job.defer(session_id=session_id, step=step, focus=focus, request_id=request_id)


def defer_replay(run_id: int) -> None:
    """Ask for a simulated replay. It only reads its session, so it holds no lock of it."""
    app.configure_task(RUN_REPLAY, lock=f"replay-{run_id}").defer(run_id=run_id)


def defer_import(job_id: int) -> None:
    """Ask for an import that a person uploaded."""
    app.configure_task(RUN_IMPORT, lock=f"import-{job_id}").defer(job_id=job_id)


def defer_endpoint_test(test_id: int) -> None:
    """Ask for a test of endpoints."""
    app.configure_task(RUN_ENDPOINT_TEST, lock=f"endpoint-test-{test_id}").defer(test_id=test_id)


def defer_play(play_id: int, ticket: int, wait_seconds: float) -> None:
    """Ask for the next step of a play, after a wait."""
    wait = {"seconds": wait_seconds} if wait_seconds > 0 else None
    app.configure_task(RUN_PLAY, lock=play_lock(play_id), schedule_in=wait).defer(play_id=play_id, ticket=ticket)


def play_lock(play_id: int) -> str:
    """The lock under which the steps of a play are taken one after the other."""
    return f"play-{play_id}"


def forget_waiting_steps(play_id: int) -> None:
    """Take back what was asked for with `defer_play` and has not begun: an earlier job of a lock holds up later ones,
    however long it still waits."""
    for job in app.job_manager.list_jobs(lock=play_lock(play_id), status="todo"):
        assert job.id is not None  # It is stored.
        app.job_manager.cancel_job_by_id(job.id, delete_job=True)


def defer_trial(trial_id: int, project_id: int) -> None:
    """Ask for a trial of settings. Trials of one project run one after the other: a later one ends an earlier one."""
    app.configure_task(RUN_TRIAL, lock=f"trial-{project_id}").defer(trial_id=trial_id)


def defer_cache_count(account_id: int, session_id: int) -> None:
    """Ask for an account of the prompt cache to be carried on. Those of one session are counted one after the other."""
    app.configure_task(COUNT_CACHE, lock=f"cache-{session_id}").defer(account_id=account_id)


def defer_project_deletion(deletion_id: int) -> None:
    """Ask for the deletion of a project."""
    app.configure_task(DELETE_PROJECT, lock=f"delete-project-{deletion_id}").defer(deletion_id=deletion_id)
