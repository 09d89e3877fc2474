"""The site served by a real server in a thread of the test, on a free port of the loopback interface."""

import threading
from contextlib import contextmanager

import uvicorn
from django.db import connection, connections

from tests.patience import PATIENCE_SECONDS


class ReadyServer(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config):
        super().__init__(config)
        self.is_ready = threading.Event()

    async def startup(self, sockets=None):
        await super().startup(sockets)
        self.is_ready.set()


@contextmanager
def served_site():
    """The port of the site, which is served as long as the block runs."""
    from hermes_site.asgi import application

    config = uvicorn.Config(application, port=0, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    server = ReadyServer(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    assert server.is_ready.wait(PATIENCE_SECONDS)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()


def cut_connections():
    """End what the server's thread left open: its event loop is gone, so nobody else can."""
    connections["default"].close_pool()
    with connection.cursor() as cursor:
        cursor.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'"
        )
