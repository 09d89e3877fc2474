"""Who is asked: the main model of a project, under this site's rules for requests to others."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from compaction.endpoints.endpoint import Endpoint
from compaction.endpoints.http_client import HttpClient
from compaction.http_main_model import HttpMainModel, talk_settings
from compaction.main_model import MainModel
from sessions_app.models import Project
from sessions_app.secret_keys import stored_key
from sessions_app.session_policy import main_model_of


@dataclass(frozen=True, slots=True)
class Connection:
    """The main model of a project, ready to be asked."""

    model: MainModel
    endpoint: Endpoint
    asked: HttpMainModel


def is_reachable(project: Project) -> bool:
    """Whether the project's settings say where its main model is asked."""
    return main_model_of(project).is_reachable


def connect(project: Project, *, is_streamed: bool, repeats_answered: bool = True) -> Connection:
    """The main model of `project`. Raises InvalidPolicy naming the setting that is missing or wrong.

    is_streamed: bounds the silence between two pieces of an answer. repeats_answered: whether a question that was
    answered with an error is put again here; off for askers who do that themselves.
    """
    model = main_model_of(project)
    endpoint = model.endpoint()
    limits = talk_settings(model, is_streamed=is_streamed, repeats_answered=repeats_answered)
    rules = settings.OUTBOUND_RULES
    key = stored_key(project.pk, endpoint.key_secret)
    return Connection(model, endpoint, HttpMainModel(endpoint, rules, HttpClient(rules, limits), stored_key=key))
