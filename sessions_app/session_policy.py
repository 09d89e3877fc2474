"""What a session's passes are made under: the policy in force, its window, and the threshold that follows.

There is one order of scopes and it is told here: the engine's defaults, what this site sets for all its projects, what
a project's newest revision sets, what a session sets for itself. Whoever makes a pass asks `policy_of` with the
session, never with its project. Must not write. Settings that can't be used count as not written, as the engine reads
them; the settings page shows what was wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import replace
from enum import StrEnum
from typing import Any

from django.conf import settings

from compaction.main_model import MODEL, MainModel, read_main_model
from compaction.policy import CompactionPolicy
from compaction.policy_reading import PolicyReading, read_layers
from compaction.threshold import Threshold, Window, effective_threshold
from sessions_app.models import PolicyRevision, Project, Session, SessionPolicyRevision
from sessions_app.windows import resolve_window

Blocks = Mapping[str, Any]
Layer = tuple[str, Blocks]


class Scope(StrEnum):
    """Where a value can be set, weakest first. What none of them sets is the engine's default."""

    SITE = "site"
    PROJECT = "project"
    SESSION = "session"


def layers_of(place: Project | Session) -> tuple[Layer, ...]:
    """The blocks that hold in a project or a session, each with its scope, the strongest last."""
    project = place.project if isinstance(place, Session) else place
    layers = (layer_of_site(), (Scope.PROJECT.value, project.policy_settings))
    return (*layers, (Scope.SESSION.value, place.policy_settings)) if isinstance(place, Session) else layers


def layer_of_site() -> Layer:
    """What the operator sets for all projects; empty blocks when nothing."""
    return (Scope.SITE.value, settings.SITE_POLICY)


def reading_of(place: Project | Session) -> PolicyReading:
    """The policy in force with the scope that each value comes from."""
    return read_layers(layers_of(place))


def policy_of(place: Project | Session) -> CompactionPolicy:
    """The policy in force in a project or, for passes, in a session."""
    return reading_of(place).policy


def blocks_of(place: Project | Session) -> dict[str, Any]:
    """Everything that is written in the scopes of `place` as one pair of blocks; reading it gives the policy in force
    as long as every value can be used."""
    return merge_blocks(blocks for _scope, blocks in layers_of(place))


def merge_blocks(layers: Iterable[Blocks]) -> dict[str, Any]:
    """The blocks of several layers as one, the strongest last: mappings are merged key by key, values replaced."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            held = merged.get(key)
            both = isinstance(held, Mapping) and isinstance(value, Mapping)
            merged[key] = merge_blocks((held, value)) if both else value  # type: ignore[arg-type]  # both are mappings
    return merged


def newest_revision(project: Project) -> PolicyRevision | None:
    """The revision whose settings are in force; None for a project that was made without one."""
    return project.policy_revisions.order_by("-number").first()


def newest_own_revision(session: Session) -> SessionPolicyRevision | None:
    """The newest of what was set for this session alone; None when nobody ever did."""
    return session.policy_revisions.order_by("-number").first()


def blocks_of_project(project: Project) -> dict[str, Any]:
    """What a project sets itself, its main model included, as one configuration."""
    named = {"default": project.main_model, "context_length": project.window_tokens}
    known = {key: value for key, value in named.items() if value}
    model = {**known, **project.main_model_settings}
    return {**project.policy_settings, **({MODEL: model} if model else {})}


def with_main_model(project: Project, block: Mapping[str, Any]) -> Project:
    """The project as it would be with this `model` block; not to be saved."""
    model = read_main_model(block).model
    other = copy(project)
    other.main_model_settings, other.main_model = dict(block), model.model or None
    other.window_tokens = model.window_tokens
    return other


def model_of(session: Session) -> str | None:
    """The model the session talks to, as the session says, else as its project does."""
    return session.model or session.project.main_model


def main_model_of(project: Project) -> MainModel:
    """The project's main model as its settings name it."""
    model = read_main_model(project.main_model_settings).model
    return model if model.model else replace(model, model=project.main_model or "")


def window_of(session: Session) -> Window:
    """The window as the session says, else as its project does, else as the price list knows the model; of it the
    answers of the main model take what its settings say."""
    window = resolve_window(session.window_tokens or session.project.window_tokens, model_of(session))
    return _with_room_for_answers(window, session.project)


def window_of_project(project: Project) -> Window:
    """The window of sessions that say nothing themselves."""
    return _with_room_for_answers(resolve_window(project.window_tokens, project.main_model), project)


def _with_room_for_answers(window: Window, project: Project) -> Window:
    return replace(window, max_output_tokens=main_model_of(project).max_output_tokens)


def overhead_of(session: Session) -> int | None:
    """Tokens of system prompt and tool schemas that are no rows; None when nobody said."""
    own = session.fixed_overhead_tokens
    return session.project.fixed_overhead_tokens if own is None else own


def threshold_of(session: Session, policy: CompactionPolicy) -> Threshold:
    """The effective threshold of a session, with its source."""
    return effective_threshold(
        policy,
        window_of(session),
        model=model_of(session),
        aux_window_tokens=policy.auxiliary.window_tokens,
        fixed_overhead_tokens=overhead_of(session) or 0,
    )
