"""What has to be true of the database before the site serves: schema, owner, samples.

All of it happens under one lock in the database, so two parents that start at once don't do it twice.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from django.contrib.auth import get_user_model
from django.core.management import call_command, get_commands
from django.db import connection
from psycopg.rows import TupleRow

from hermes_site.postgres.errors import ServerUnavailable
from hermes_site.serve.connecting import plain_parameters
from sessions_app.services.owner import ensure_local_owner

logger = logging.getLogger(__name__)

PREPARATION_LOCK = 7_305_804_402
LOCK_PAUSE_SECONDS = 0.2
SAMPLES_COMMAND = "load_samples"

Say = Callable[[str], None]


@contextmanager
def preparation_lock() -> Iterator[None]:
    """A connection of its own whose only purpose is the lock; the first sign of a database that doesn't answer."""
    try:
        locked = psycopg.connect(**plain_parameters(connection), autocommit=True)
    except psycopg.OperationalError as error:
        reason = " ".join(str(error).split())
        raise ServerUnavailable(f"The database of DATABASE_URL does not answer: {reason}") from error
    with locked:
        # Asked again and again instead of waited for: a statement that waits has a snapshot, and an index that the
        # other parent builds concurrently would wait for its end.
        while not _try_lock(locked):
            time.sleep(LOCK_PAUSE_SECONDS)
        yield


def _try_lock(connection: psycopg.Connection[TupleRow]) -> bool:
    found = connection.execute("select pg_try_advisory_lock(%s)", [PREPARATION_LOCK]).fetchone()
    return found is not None and bool(found[0])


def prepare_database(say: Say, with_samples: bool) -> None:
    """Migrate, make sure of an owner, and complete the samples until somebody has logged in for the first time.

    Whoever has seen the site may have deleted them; before, loading them again only adds what a crash left out.
    """
    with preparation_lock():
        call_command("migrate", verbosity=0, interactive=False)
        ensure_local_owner()
        if with_samples and is_unseen() and SAMPLES_COMMAND in get_commands():
            load_samples(say)


def is_unseen() -> bool:
    return not get_user_model().objects.filter(last_login__isnull=False).exists()


def load_samples(say: Say) -> None:
    """Samples that can't be loaded are no reason not to serve."""
    say("Loading the sample sessions (only the first time)…")
    try:
        call_command(SAMPLES_COMMAND)
    except Exception:
        logger.exception("The sample sessions could not be loaded; the site works without them")
