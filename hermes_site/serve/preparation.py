"""What has to be true of the database before the site serves: schema, owner, sample data.

All of it happens under one lock in the database, so two parents that start at once don't do it twice.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from django.contrib.auth import get_user_model
from django.core.management import call_command, get_commands
from django.db import connection

from hermes_site.postgres.errors import ServerUnavailable
from hermes_site.serve.connecting import plain_parameters

PREPARATION_LOCK = 7_305_804_402
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
        locked.execute("select pg_advisory_lock(%s)", [PREPARATION_LOCK])
        yield


def prepare_database(say: Say, with_samples: bool) -> None:
    """Migrate; on a database without any person also load the samples."""
    with preparation_lock():
        call_command("migrate", verbosity=0, interactive=False)
        is_fresh = not get_user_model().objects.exists()
        if is_fresh and with_samples and SAMPLES_COMMAND in get_commands():
            say("Loading the sample sessions (once)…")
            call_command(SAMPLES_COMMAND)
        ensure_owner()


def ensure_owner() -> None:
    """Last, because its existence says that the rest is done."""
    from sessions_app.services.owner import ensure_local_owner

    ensure_local_owner()
