"""Saving which model the sessions of a project talk to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from compaction.errors import InvalidPolicy
from compaction.main_model import MainModelReading, read_main_model
from compaction.unused_settings import SECRET_KEYS
from sessions_app.mapping import storable_json, storable_or_none
from sessions_app.models import AuditAction, Project
from sessions_app.services.audit import THE_SITE, AuditOrigin, record_audit
from sessions_app.services.thresholds import refresh_thresholds


def save_main_model(
    project_id: int, block: Mapping[str, Any], *, origin: AuditOrigin = THE_SITE
) -> MainModelReading:
    """Save the `model` block; an empty one means that nobody is asked any more. Returns how it was read.

    The project's model and window follow it; the sessions' thresholds are brought up to date. Raises InvalidPolicy
    naming the first key that can't be used, and writes nothing then. Keys that hold secrets are not stored.
    """
    reading = read_main_model(block)
    if reading.errors:
        raise InvalidPolicy(reading.errors[0].cause or reading.errors[0].message, reading.errors[0].key)
    with transaction.atomic():
        project = Project.objects.select_for_update().get(pk=project_id)
        kept = {key: value for key, value in block.items() if key not in SECRET_KEYS}
        project.main_model_settings = storable_json(kept)
        project.main_model = storable_or_none(reading.model.model or None)
        project.window_tokens = reading.model.window_tokens
        project.save(update_fields=["main_model_settings", "main_model", "window_tokens"])
        refresh_thresholds(project)
        details = (("model", project.main_model or ""),)
        record_audit(origin, AuditAction.SETTINGS_SAVED, project=project, subject="main model", details=details)
    return reading
