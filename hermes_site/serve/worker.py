"""The worker: takes jobs from the queue in the database. Run by `serve` as `python -m hermes_site.serve.worker`.

Argument: the descriptor of a pipe that gets one byte once the worker has its database.

A worker that has lost its database looks alive and is not: its wake-up calls and its heartbeat have ended. So this one
holds a connection for no other purpose than to notice, and ends; whoever watches over it starts it again.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

import django
import psycopg
from django.db import connection
from procrastinate import App

from hermes_site.serve.connecting import plain_parameters
from hermes_site.serve.parent_watch import end_with_parent

logger = logging.getLogger(__name__)

# Longer than a worker waits for its jobs (settings), shorter than `serve` waits for a worker.
STOP_TIMEOUT_SECONDS = 8.0


def run_worker(say_ready: Callable[[], None] = lambda: None) -> int:
    """Work until asked to stop (0), or until the database is lost (1). say_ready: called when the database is there."""
    from procrastinate.contrib.django import app

    with app.replace_connector(app.connector.get_worker_connector()) as worker_app:  # type: ignore[attr-defined]
        return asyncio.run(work_while_connected(worker_app, say_ready))


async def work_while_connected(app: App, say_ready: Callable[[], None]) -> int:
    """Run the worker until a signal asks it to stop (0), or it or its database gives up (1)."""
    stop_asked = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop_asked.set)
    async with app.open_async():
        say_ready()
        working = asyncio.create_task(app.run_worker_async(install_signal_handlers=False))
        others = [asyncio.create_task(waiting) for waiting in (wait_for_lost_connection(), stop_asked.wait())]
        await asyncio.wait({working, *others}, return_when=asyncio.FIRST_COMPLETED)
        for task in (working, *others):
            task.cancel()
        await asyncio.wait({working, *others}, timeout=STOP_TIMEOUT_SECONDS)
        if not working.done():
            # A job that computes in a thread can't be interrupted; the queue gives it to another worker.
            logger.warning("The worker leaves a job behind that did not stop")
            os._exit(1)
        if not working.cancelled() and (error := working.exception()):
            raise error
    return 0 if stop_asked.is_set() else 1


async def wait_for_lost_connection() -> None:
    """Return when the database has ended this connection."""
    try:
        async with await psycopg.AsyncConnection.connect(**plain_parameters(connection), autocommit=True) as watch:
            async for _ in watch.notifies():
                pass
    except psycopg.OperationalError as error:
        logger.error("The worker lost its database: %s", " ".join(str(error).split()))


def main(ready_descriptor: int) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")
    end_with_parent()
    django.setup()
    return run_worker(lambda: say_ready_on(ready_descriptor))


def say_ready_on(descriptor: int) -> None:
    """Tell the parent; it may be gone."""
    with suppress(OSError):
        os.write(descriptor, b"1")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
