"""A site of its own for a measurement, on a database that is dropped afterwards.

With DATABASE_URL the database is made on that server; without it an embedded server is started in a folder that is
thrown away, with the settings every local site has. Nothing of the operator's is read or changed. What the script
starts as processes of its own finds the same database by the environment this sets.
"""

from __future__ import annotations

import logging
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))
SERVER_SETTINGS = ("server_version", "fsync", "synchronous_commit", "wal_sync_method", "shared_buffers")


@contextmanager
def scratch_site() -> Iterator[None]:
    """Django, set up on an empty database with all tables."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-bench-"))
    # As root the embedded server runs as another user, who has to get in.
    folder.chmod(0o755)
    os.environ["HERMES_SITE_VAR_DIR"] = str(folder / "var")
    os.environ["HERMES_HOME"] = str(folder)
    os.environ["DJANGO_SETTINGS_MODULE"] = "hermes_site.settings"
    try:
        with _database(os.environ.get("DATABASE_URL", "")):
            yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _database(address: str) -> Iterator[None]:
    if not address:
        with _django():
            yield
        return
    name = f"hermes_bench_{os.getpid()}"
    with psycopg.connect(address, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        os.environ["DATABASE_URL"] = urlsplit(address)._replace(path=f"/{name}").geturl()
        try:
            with _django():
                yield
        finally:
            os.environ["DATABASE_URL"] = address
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def _django() -> Iterator[None]:
    import django
    from django.core.management import call_command

    django.setup()
    # The lines of passes still go to their file, as on a real site; the terminal is for the figures.
    logging.getLogger().handlers.clear()
    from hermes_site.postgres.embedded import close_connections_and_detach

    try:
        call_command("migrate", verbosity=0, interactive=False)
        yield
    finally:
        close_connections_and_detach()


def machine() -> str:
    """What was measured on, in one paragraph: machine, load, interpreter, and the settings of the database server."""
    from django.db import connection

    with connection.cursor() as cursor:
        found = []
        for setting in SERVER_SETTINGS:
            cursor.execute(f"SHOW {setting}")
            found.append(f"{setting} {cursor.fetchone()[0]}")
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return (
        f"{platform.platform()}, {_processor()}, {os.cpu_count()} processors, load {load}\n"
        f"Python {platform.python_version()}; PostgreSQL {', '.join(found).removeprefix('server_version ')}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
