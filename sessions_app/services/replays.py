"""Asking for a simulated replay, and asking it to stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from sessions_app.deferring import defer_replay
from sessions_app.models import ReplayRun, RunStatus, Session


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
            policy_settings=dict(session.project.policy_settings if settings is None else settings),
            summarizer=summarizer,
            token_counter=token_counter,
            window_tokens=window_tokens,
            until_seq=session.last_seq,
        )
        defer_replay(run.pk)
    return run


def cancel_replay(run_id: int) -> bool:
    """Ask a run to stop; one that has not begun is cancelled at once. False when it is over already."""
    with transaction.atomic():
        queued = ReplayRun.objects.filter(pk=run_id, status=RunStatus.QUEUED)
        if queued.update(status=RunStatus.CANCELLED, cancel_requested=True):
            return True
        return bool(ReplayRun.objects.filter(pk=run_id, status=RunStatus.RUNNING).update(cancel_requested=True))
