"""The site in front of a scripted main model, both real servers on the loopback interface."""

import threading

import pytest
from gateway_client import GatewayClient

from sessions_app import services
from sessions_app.services.tokens import issue_token
from tests.compaction.loopback import Server, completion
from tests.serving import PATIENCE_SECONDS, cut_connections, served_site


@pytest.fixture(autouse=True)
def loopback_is_allowed(loopback_is_allowed):
    """Here every test talks with a server on loopback."""


@pytest.fixture
def upstream():
    """The main model. Its script may be replaced at any time."""
    server = Server(completion("ok"))
    yield server
    server.stop()


@pytest.fixture
def token(project, upstream):
    services.save_main_model(project.pk, {"default": "big", "base_url": upstream.url, "context_length": 200_000})
    return issue_token(project, "client", may_write=True).secret


@pytest.fixture
def site(transactional_db):
    with served_site() as port:
        yield f"http://127.0.0.1:{port}"
    wait_for_threads()
    cut_connections()


def wait_for_threads():
    for thread in threading.enumerate():
        if thread.name == "gateway":
            thread.join(PATIENCE_SECONDS)


@pytest.fixture
def client(site, token, upstream):
    return GatewayClient(site, token, upstream)
