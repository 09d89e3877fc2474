"""A session with a past, and clients with every kind of token."""

import pytest
from api_client import ApiClient
from django.db import connections

from sessions_app import services
from sessions_app.services.replays import request_replay
from sessions_app.services.tokens import issue_token, revoke_token


@pytest.fixture
def application(transactional_db):
    """The site as its web server calls it; what its threads leave open is closed afterwards."""
    from hermes_site.asgi import application

    yield application
    connections["default"].close_pool()


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
