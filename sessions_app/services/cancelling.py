"""Cancelling background work that keeps its state in a row: replays, imports, endpoint tests, trials."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from sessions_app.models import JobStatus


def cancel_job(found: QuerySet[Any], **noted: datetime) -> bool:
    """Ask the one row of `found` to stop; what has not begun is cancelled at once, and `noted` is written with it.
    False when it is over already."""
    with transaction.atomic():
        queued = found.filter(status=JobStatus.QUEUED)
        if queued.update(status=JobStatus.CANCELLED, cancel_requested=True, **noted):
            return True
        return bool(found.filter(status=JobStatus.RUNNING).update(cancel_requested=True))
