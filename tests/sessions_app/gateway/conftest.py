"""The site in front of a scripted main model, both real servers on the loopback interface."""

import threading

import pytest
import uvicorn
from django.db import connection, connections
from gateway_client import GatewayClient

from compaction.endpoints.gates import PROCESS_GATES
from sessions_app import services
from sessions_app.services.tokens import issue_token
from sessions_app.summarizers import operator_rules
from tests.compaction.loopback import Server, completion

PATIENCE_SECONDS = 20


@pytest.fixture(autouse=True)
def loopback_is_allowed(settings):
    settings.OUTBOUND_RULES = operator_rules()
    yield
    PROCESS_GATES.forget()


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


class ReadyServer(uvicorn.Server):
    def __init__(self, config):
        super().__init__(config)
        self.is_ready = threading.Event()

    async def startup(self, sockets=None):
        await super().startup(sockets)
        self.is_ready.set()


@pytest.fixture
def site(transactional_db):
    from hermes_site.asgi import application

    config = uvicorn.Config(application, port=0, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    server = ReadyServer(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    assert server.is_ready.wait(PATIENCE_SECONDS)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    wait_for_threads()
    connections["default"].close_pool()
    with connection.cursor() as cursor:
        cursor.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
        )


def wait_for_threads():
    for thread in threading.enumerate():
        if thread.name == "gateway":
            thread.join(PATIENCE_SECONDS)


@pytest.fixture
def client(site, token, upstream):
    return GatewayClient(site, token, upstream)
