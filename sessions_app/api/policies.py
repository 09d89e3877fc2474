"""Settings as the API reads and refuses them: the engine's own reading, with its messages under their paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ninja import Schema
from pydantic import Field

from compaction.policy_reading import PolicyReading, read_policy, without_secrets
from compaction.settings import SettingProblem, SettingValue
from sessions_app.api.errors import FieldProblem, unprocessable
from sessions_app.api.parameters import MOST_INT8, BodySchema, JsonObject, Text
from sessions_app.mapping import storable_json


class PolicyBlocks(BodySchema):
    """Settings in the shape of a Hermes config.yaml."""

    compression: JsonObject = Field({}, description="The `compression:` block.")
    auxiliary: JsonObject = Field({}, description="The `auxiliary:` block.")


class NewRevision(PolicyBlocks):
    """Settings to save, with what the history tells of them."""

    note: Text = Field("", max_length=1_000, description="Why, for the history.")
    base: int | None = Field(
        None,
        ge=0,
        le=MOST_INT8,
        description="The `revision` these were made on: refused (409) if there is a newer one.",
    )
    accept_nearest: bool = Field(
        True, description="Whether a number out of range becomes the nearest one allowed, and is remarked on."
    )


class Remark(Schema):
    """Something to know about a value that was taken: clamped, not used here, not known."""

    path: str
    message: str
    severity: str


def read_blocks(blocks: Mapping[str, Any], prefix: str = "") -> PolicyReading:
    """The policy of two blocks. Raises Refusal with the path of each value that can't be used."""
    reading = read_policy(blocks)
    if reading.errors:
        raise unprocessable(field_of(problem, prefix) for problem in reading.errors)
    return reading


def field_of(problem: SettingProblem, prefix: str) -> FieldProblem:
    return FieldProblem(path=prefix + problem.key, message=problem.cause or problem.message)


def remarks_of(problems: Iterable[SettingProblem]) -> list[Remark]:
    return [Remark(path=one.key, message=one.message, severity=one.severity.value) for one in problems]


def storable_blocks(blocks: Mapping[str, Any]) -> dict[str, Any]:
    """The blocks as they are stored: without keys that hold secrets, wherever they stand."""
    stored: dict[str, Any] = storable_json(without_secrets(blocks))
    return stored


def json_value(value: SettingValue) -> Any:
    """A setting's value as JSON; ratios by model are an object."""
    return dict(value) if isinstance(value, tuple) else value
