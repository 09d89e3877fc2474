"""The real site behind an address, and tokens for it."""

import pytest
from django.db import connections

from sessions_app.services.tokens import issue_token


@pytest.fixture
def site_url(transactional_db, live_server):
    """The address of the site, over real HTTP; what its threads leave open is closed afterwards."""
    yield live_server.url
    connections["default"].close_pool()


@pytest.fixture
def secret(project):
    return issue_token(project, "feeder", may_write=True).secret
