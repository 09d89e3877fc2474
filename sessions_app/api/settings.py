"""A project's settings: what is in force and why, and saving other ones as a new revision."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Router, Schema
from pydantic import Field

from compaction.policy import AUXILIARY_SETTINGS, COMPRESSION_SETTINGS, CompactionPolicy
from compaction.policy_reading import AUXILIARY_COMPRESSION, COMPRESSION, PolicyReading, read_policy
from compaction.threshold import effective_threshold
from sessions_app.api.answers import reads, writes
from sessions_app.api.authentication import WRITE, ApiRequest
from sessions_app.api.errors import FieldProblem, unprocessable
from sessions_app.api.parameters import JsonObject, Slug, Text
from sessions_app.api.policies import PolicyBlocks, Remark, json_value, read_blocks, remarks_of, storable_blocks
from sessions_app.api.reach import get_project
from sessions_app.models import PolicyRevision, Project
from sessions_app.services import save_policy
from sessions_app.session_policy import newest_revision
from sessions_app.windows import resolve_window

router = Router(tags=["settings"])


class EffectiveValue(Schema):
    """One setting: the value in force, where it comes from, and what it would be otherwise."""

    path: str
    value: Any = Field(description="A switch, a number, a text, null for no limit, or ratios by model.")
    source: str = Field(description="`default` or `project`.")
    default: Any
    unit: str
    meaning: str


class SettingsShape(Schema):
    """The settings in force. written: what was saved, as it was saved."""

    revision: int | None
    saved_at: datetime | None
    values: list[EffectiveValue]
    written: JsonObject
    remarks: list[Remark]


class NewSettings(PolicyBlocks):
    """Settings to save. What is left out falls back to its default."""

    note: Text = Field("", max_length=1_000, description="Why, for the history.")


@router.get("/projects/{slug}/settings", response=reads(SettingsShape), operation_id="get_settings")
def read_settings(request: ApiRequest, slug: Slug) -> SettingsShape:
    """The effective value of every setting with its source."""
    project = get_project(request.auth, slug)
    return shape_settings(project, newest_revision(project))


@router.put("/projects/{slug}/settings", response=writes(SettingsShape), auth=WRITE, operation_id="save_settings")
def save_settings(request: ApiRequest, slug: Slug, body: NewSettings) -> SettingsShape:
    """Save both blocks as a new revision. Passes that run keep the settings they began with."""
    project = get_project(request.auth, slug)
    blocks = {"compression": body.compression, "auxiliary": body.auxiliary}
    require_room(project, read_blocks(blocks).policy)
    note = body.note or f"Saved with the API token {request.auth.name}"
    revision = save_policy(project.pk, storable_blocks(blocks), None, note)
    project.policy_settings = revision.settings
    return shape_settings(project, revision)


def require_room(project: Project, policy: CompactionPolicy) -> None:
    """Raise Refusal for settings whose threshold leaves no room beside system prompt and tools."""
    threshold = effective_threshold(
        policy,
        resolve_window(project.window_tokens, project.main_model),
        model=project.main_model,
        aux_window_tokens=policy.auxiliary.window_tokens,
        fixed_overhead_tokens=project.fixed_overhead_tokens or 0,
    )
    if threshold.refusal:
        raise unprocessable([FieldProblem(path="compression.threshold", message=threshold.refusal)])


def shape_settings(project: Project, revision: PolicyRevision | None) -> SettingsShape:
    """The project's settings as reading and saving tell them."""
    reading = read_policy(project.policy_settings)
    return SettingsShape(
        revision=None if revision is None else revision.number,
        saved_at=None if revision is None else revision.created_at,
        values=effective_values(reading),
        written=project.policy_settings,
        remarks=remarks_of(reading.problems),
    )


def effective_values(reading: PolicyReading) -> list[EffectiveValue]:
    """Every setting there is, in the order in which the engine lists them."""
    blocks = ((COMPRESSION, COMPRESSION_SETTINGS, reading.policy),)
    auxiliary = ((AUXILIARY_COMPRESSION, AUXILIARY_SETTINGS, reading.policy.auxiliary),)
    return [
        EffectiveValue(
            path=f"{block}.{setting.key}",
            value=json_value(getattr(holder, name)),
            source=reading.source_of(f"{block}.{setting.key}"),
            default=json_value(setting.default),
            unit=setting.unit,
            meaning=setting.meaning,
        )
        for block, settings, holder in (*blocks, *auxiliary)
        for name, setting in settings
    ]
