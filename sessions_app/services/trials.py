"""Trials of settings: asked for, moved on, superseded, ended. Nothing but the trial's own figures is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from compaction.storable import storable_text
from sessions_app.deferring import defer_trial
from sessions_app.mapping import storable_json
from sessions_app.models import PolicyTrial, Project, RunStatus
from sessions_app.services.cancelling import cancel_job

_OPEN: Final = (RunStatus.QUEUED, RunStatus.RUNNING)
# Of one person's trials of a project the newest stay: an answer that was seen can be looked at again.
_KEPT: Final = 10


def request_trial(
    project: Project, settings: Mapping[str, Any], fingerprint: str, created_by: AbstractBaseUser
) -> PolicyTrial:
    """A trial of `settings` as the project's blocks. The same question of the same person is not asked twice; another
    one supersedes what they asked before."""
    with transaction.atomic():
        own = PolicyTrial.objects.select_for_update().filter(project=project, created_by_id=created_by.pk)
        trials = list(own.order_by("-pk").only("pk", "status", "fingerprint", "cancel_requested"))
        known = next((one for one in trials if one.fingerprint == fingerprint and _is_good(one)), None)
        for one in trials:
            if one.status in _OPEN and one != known:
                cancel_trial(one.pk)
        PolicyTrial.objects.filter(pk__in=[one.pk for one in trials[_KEPT:] if one.status not in _OPEN]).delete()
        if known is not None:
            return PolicyTrial.objects.get(pk=known.pk)
        trial = PolicyTrial.objects.create(
            project=project, created_by_id=created_by.pk, settings=storable_json(settings), fingerprint=fingerprint
        )
        defer_trial(trial.pk, project.pk)
    return trial


def _is_good(trial: PolicyTrial) -> bool:
    return trial.status == RunStatus.DONE or (trial.status in _OPEN and not trial.cancel_requested)


def cancel_trial(trial_id: int) -> None:
    """Ask a trial to stop; one that has not begun is cancelled at once."""
    cancel_job(PolicyTrial.objects.filter(pk=trial_id), finished_at=timezone.now())


def begin_trial(trial: PolicyTrial, sessions: int) -> bool:
    """Note that it begins; False when it must not, because it is over or was cancelled."""
    found = PolicyTrial.objects.filter(pk=trial.pk, status__in=_OPEN, cancel_requested=False)
    return bool(found.update(status=RunStatus.RUNNING, progress_done=0, progress_total=sessions))


def move_trial(trial: PolicyTrial, done: int) -> None:
    """Note how many sessions are done."""
    PolicyTrial.objects.filter(pk=trial.pk).update(progress_done=done)


def is_trial_cancelled(trial: PolicyTrial) -> bool:
    """Whether somebody asked it to stop, or it is gone."""
    return not PolicyTrial.objects.filter(pk=trial.pk, cancel_requested=False).exists()


def finish_trial(
    trial: PolicyTrial, status: RunStatus, result: Mapping[str, Any] | None = None, error: str = ""
) -> None:
    """Note how it ended."""
    PolicyTrial.objects.filter(pk=trial.pk).update(
        status=status, result=storable_json(result), error=storable_text(error), finished_at=timezone.now()
    )
