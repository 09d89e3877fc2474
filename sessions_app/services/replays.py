"""Simulated replays: asked for, stored step by step, stopped. Nothing of the session itself is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from compaction.storable import storable_text
from sessions_app.deferring import defer_replay
from sessions_app.models import ReplayRun, ReplayStep, RunStatus, Session
from sessions_app.notifications import REPLAY_KIND, Notice, notify
from sessions_app.services.cancelling import cancel_job
from sessions_app.session_policy import blocks_of


def request_replay(
    session: Session,
    policy_name: str,
    *,
    settings: Mapping[str, Any] | None = None,
    summarizer: str = "extractive",
    token_counter: str = "tiktoken",
    window_tokens: int | None = None,
    created_by: AbstractBaseUser | None = None,
) -> ReplayRun:
    """A queued run over the session as it is now, with its job. settings: as `compression:` and `auxiliary:` blocks."""
    with transaction.atomic():
        run = ReplayRun.objects.create(
            session=session,
            created_by_id=None if created_by is None else created_by.pk,
            policy_name=policy_name,
            policy_settings=dict(blocks_of(session) if settings is None else settings),
            summarizer=summarizer,
            token_counter=token_counter,
            window_tokens=window_tokens,
            until_seq=session.last_seq,
        )
        defer_replay(run.pk)
    return run


def cancel_replay(run_id: int) -> bool:
    """Ask a run to stop; one that has not begun is cancelled at once. False when it is over already."""
    return cancel_job(ReplayRun.objects.filter(pk=run_id))


def begin_replay(run: ReplayRun) -> None:
    """Note that the run begins, without the steps of an attempt before."""
    with transaction.atomic():
        ReplayStep.objects.filter(run=run).delete()
        run.status, run.started_at, run.progress_done = RunStatus.RUNNING, timezone.now(), 0
        run.save(update_fields=["status", "started_at", "progress_done"])


def store_steps(run: ReplayRun, steps: Sequence[ReplayStep], turns_done: int) -> bool:
    """Store steps and progress; False when somebody asked the run to stop."""
    with transaction.atomic():
        ReplayStep.objects.bulk_create(steps)
        run.progress_done = turns_done
        run.save(update_fields=["progress_done", "progress_total"])
        _tell(run)
    return not ReplayRun.objects.filter(pk=run.pk, cancel_requested=True).exists()


def finish_replay(run: ReplayRun, status: RunStatus, error: str = "") -> None:
    """Note how the run ended, with the result that was set on it."""
    run.status, run.error, run.finished_at = status, storable_text(error), timezone.now()
    with transaction.atomic():
        run.save(update_fields=["status", "error", "finished_at", "result"])
        _tell(run)


def _tell(run: ReplayRun) -> None:
    seq = Session.objects.values_list("last_seq", flat=True).get(pk=run.session_id)
    notify(Notice(session=run.session_id, seq=seq, kind=REPLAY_KIND, ids=(run.pk,)))
