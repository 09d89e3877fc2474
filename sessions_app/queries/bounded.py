"""Reads that may take long, ended by the database after a while instead of holding a page up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled


class TookTooLong(Exception):
    """A read was ended because it took longer than it may."""


@contextmanager
def bounded_reads(limit_ms: int) -> Iterator[None]:
    """Statements inside may take `limit_ms` each. Raises TookTooLong when one was ended."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout')")
            (usual,) = cursor.fetchone()
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(limit_ms)])
            yield
            # Inside a transaction of somebody else's the setting would outlive this block.
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [usual])
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise TookTooLong from error
        raise
