"""A project's settings: what is in force and why, and saving other ones as a new revision."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Router, Schema
from pydantic import Field

from compaction.main_model import MAIN_MODEL_SETTINGS, MODEL, MainModel, read_main_model
from compaction.policy import AUXILIARY_SETTINGS, COMPRESSION_SETTINGS
from compaction.policy_reading import AUXILIARY_COMPRESSION, COMPRESSION, PolicyReading
from compaction.wording import worded
from sessions_app.api.answers import reads, writes
from sessions_app.api.authentication import WRITE, ApiRequest
from sessions_app.api.errors import Problem, out_of_date, unprocessable
from sessions_app.api.parameters import JsonObject, Slug
from sessions_app.api.policies import (
    NewRevision,
    Remark,
    field_of,
    json_value,
    remarks_of,
    storable_blocks,
)
from sessions_app.api.reach import get_project
from sessions_app.models import PolicyRevision, Project
from sessions_app.origins import token_origin
from sessions_app.policy_checking import judge
from sessions_app.services import PolicyConflict, save_policy
from sessions_app.session_policy import newest_revision, reading_of

router = Router(tags=["settings"])


class EffectiveValue(Schema):
    """One setting: the value in force, where it comes from, and what it would be otherwise."""

    path: str
    value: Any = Field(description="A switch, a number, a text, null for no limit, or ratios by model.")
    source: str = Field(description="`default`, `site`, `project` or `session`.")
    default: Any
    unit: str
    meaning: str


class SettingsShape(Schema):
    """The settings in force. written, model: what was saved, as it was saved."""

    revision: int | None
    saved_at: datetime | None
    values: list[EffectiveValue]
    written: JsonObject
    model: JsonObject
    remarks: list[Remark]


class NewSettings(NewRevision):
    """Settings to save. What is left out falls back to its default."""

    model: JsonObject | None = Field(None, description="The `model:` block; left out, it stays as it is.")


@router.get("/projects/{slug}/settings", response=reads(SettingsShape), operation_id="get_settings")
def read_settings(request: ApiRequest, slug: Slug) -> SettingsShape:
    """The effective value of every setting with its source."""
    project = get_project(request.auth, slug)
    return shape_settings(project, newest_revision(project))


_SAVES = {**writes(SettingsShape), 409: Problem}


@router.put("/projects/{slug}/settings", response=_SAVES, auth=WRITE, operation_id="save_settings")
def save_settings(request: ApiRequest, slug: Slug, body: NewSettings) -> SettingsShape:
    """Save both blocks as a new revision, and the main model if it is given. Passes that run keep the settings they
    began with."""
    project = get_project(request.auth, slug)
    blocks: JsonObject = {"compression": body.compression, "auxiliary": body.auxiliary}
    if body.model is not None:
        blocks["model"] = body.model
    verdict = judge(project, blocks, accept_nearest=body.accept_nearest)
    if verdict.refusals:
        raise unprocessable(field_of(problem, "") for problem in verdict.refusals)
    note = body.note or worded("Saved with the API token {}", request.auth.name)
    try:
        revision = save_policy(
            project.pk, storable_blocks(blocks), None, note, base=body.base, origin=token_origin(request, request.auth)
        )
    except PolicyConflict as conflict:
        raise out_of_date(conflict.newest) from conflict
    project.refresh_from_db()
    return shape_settings(project, revision)


def shape_settings(project: Project, revision: PolicyRevision | None) -> SettingsShape:
    """The project's settings as reading and saving tell them."""
    reading = reading_of(project)
    model = read_main_model(project.main_model_settings)
    return SettingsShape(
        revision=None if revision is None else revision.number,
        saved_at=None if revision is None else revision.created_at,
        values=[*effective_values(reading), *model_values(model.model)],
        written=project.policy_settings,
        model=project.main_model_settings,
        remarks=remarks_of((*reading.problems, *model.problems)),
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


def model_values(model: MainModel) -> list[EffectiveValue]:
    """The main model's settings. A value that equals its default counts as not set."""
    return [
        EffectiveValue(
            path=f"{MODEL}.{setting.key}",
            value=getattr(model, name),
            source="default" if getattr(model, name) == setting.default else "project",
            default=json_value(setting.default),
            unit=setting.unit,
            meaning=setting.meaning,
        )
        for name, setting in MAIN_MODEL_SETTINGS
    ]
