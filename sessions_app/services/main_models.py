"""Saving which model the sessions of a project talk to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from compaction.errors import InvalidPolicy
from compaction.main_model import MODEL, MainModelReading, read_main_model
from compaction.wording import worded
from sessions_app.models import Project
from sessions_app.services.audit import THE_SITE, AuditOrigin
from sessions_app.services.policies import save_policy


def save_main_model(project_id: int, block: Mapping[str, Any], *, origin: AuditOrigin = THE_SITE) -> MainModelReading:
    """Save the `model` block alone, as a new revision; an empty one means that nobody is asked any more. Returns how it
    was read.

    The project's model and window follow it; the sessions' thresholds are brought up to date. Raises InvalidPolicy
    naming the first key that can't be used, and writes nothing then. Keys that hold secrets are not stored.
    """
    reading = read_main_model(block)
    if reading.errors:
        raise InvalidPolicy(reading.errors[0].cause or reading.errors[0].message, reading.errors[0].key)
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project_id)
        save_policy(
            project_id, {**project.policy_settings, MODEL: dict(block)}, None, worded("Main model"), origin=origin
        )
    return reading
