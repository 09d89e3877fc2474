"""The OpenAPI description held against the API: generated requests, in process, through the real ASGI application.

Half of the requests are what the description allows, half are what it forbids; half of them name a session, a row and
a run that exist. None may end in a fault of ours, and every answer has to be one that is described.
"""

import os
from functools import cache

import pytest
import schemathesis
from django.conf import settings as django_settings
from hypothesis import HealthCheck, Phase, given, settings
from row_builder import RowBuilder
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from sessions_app import services
from sessions_app.api.site import api
from sessions_app.services.replays import request_replay
from sessions_app.services.tokens import issue_token

# How many requests per operation and kind; more on a quiet machine: HERMES_API_EXAMPLES=500.
EXAMPLES = int(os.environ.get("HERMES_API_EXAMPLES", "8"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def places(db):
    """A token that may write, and the parts of addresses that lead somewhere."""
    project = services.create_project("review", "Review")
    session = services.create_session(project, "A review", window_tokens=200_000)
    rows = RowBuilder(session.pk)
    rows.turns(2)
    rows.absorb([row.pk for row in rows.live()][1:4])
    run = request_replay(session, "micro")
    parts = {"slug": "review", "public_id": session.public_id, "row_id": rows.live()[0].pk, "run_id": run.pk}
    return issue_token(project, "generated", may_write=True).secret, {**parts, "number": 1}


def operations():
    paths = api.get_openapi_schema()["paths"]
    return [(method.upper(), path) for path, methods in paths.items() for method in methods]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), operations(), ids=lambda part: part.replace("/api/v1", ""))
def test_generated_requests_get_described_answers(method, path, mode, application, places, monkeypatch):
    monkeypatch.setattr(django_settings, "API_REQUESTS_A_MINUTE", 1_000_000)
    secret, parts = places
    operation = description(application)[path][method]
    for leads_somewhere in (True, False):
        ask_generated(operation, mode, secret, parts if leads_somewhere else {})


@cache
def description(application):
    """Loaded once: the site writes it and schemathesis takes it to pieces, which costs more than the requests."""
    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", application)


def ask_generated(operation, mode, secret, parts):
    @bounded
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case):
        case.path_parameters = {name: parts.get(name, value) for name, value in (case.path_parameters or {}).items()}
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {secret}"}
        case.call_and_validate(checks=CHECKS)

    ask()


def bounded(test):
    return settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )(test)
