"""A session with a past, and clients with every kind of token."""

import json

import pytest
from django.test import Client

from sessions_app import services
from sessions_app.services.replays import request_replay
from sessions_app.services.tokens import issue_token, revoke_token

PREFIX = "/api/v1"


class ApiClient:
    """Asks the API with one token, or with none."""

    def __init__(self, secret=None):
        self._http = Client(raise_request_exception=False)
        self.headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}

    def get(self, path, **query):
        return self._http.get(PREFIX + path, query, headers=self.headers)

    def send(self, path, body, method="POST"):
        text = body if isinstance(body, str | bytes) else json.dumps(body)
        return self._http.generic(method, PREFIX + path, text, "application/json", headers=self.headers)

    def ask(self, method, path, body=None):
        return self.get(path) if body is None else self.send(path, body, method)


@pytest.fixture
def reader(project):
    return ApiClient(issue_token(project, "reader").secret)


@pytest.fixture
def writer(project):
    return ApiClient(issue_token(project, "writer", may_write=True).secret)


@pytest.fixture
def foreigner(db):
    other = services.create_project("other", "Other")
    return ApiClient(issue_token(other, "foreigner", may_write=True).secret)


@pytest.fixture
def revoked(project):
    issued = issue_token(project, "old", may_write=True)
    assert revoke_token(project, "old")
    return ApiClient(issued.secret)


@pytest.fixture
def anonymous(db):
    return ApiClient()


@pytest.fixture
def past(rows):
    """Two turns, of which the first was absorbed."""
    rows.turns(2)
    rows.absorb([row.pk for row in rows.live()][1:4])
    return rows


@pytest.fixture
def run(session, past):
    return request_replay(session, "micro")


@pytest.fixture
def url(session):
    return f"/sessions/{session.public_id}"


def message(text, **more):
    return {"message": {"role": "user", "content": text}, **more}
