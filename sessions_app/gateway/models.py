"""The models that a project offers at the gateway: its main model, as the settings name it. Nobody is asked."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import Project
from sessions_app.session_policy import main_model_of, window_of_project


@dataclass(frozen=True, slots=True)
class ModelShape:
    """A model as clients are told of it. window_tokens: None when it is not known."""

    name: str
    created: int
    owner: str
    window_tokens: int | None

    def to_mapping(self) -> dict[str, object]:
        """The JSON object."""
        told = {"id": self.name, "object": "model", "created": self.created, "owned_by": self.owner}
        return {**told, "context_window": self.window_tokens}


def models_of(project: Project) -> tuple[ModelShape, ...]:
    """The project's main model; nothing when it has no name or can't be asked."""
    model = main_model_of(project)
    if not model.model or not model.is_reachable:
        return ()
    created = int(project.created_at.timestamp())
    window = window_of_project(project).context_tokens
    return (ModelShape(model.model, created, model.provider or "custom", window),)
