"""The embedded server of this site: one attachment per process, made from the settings, ended at exit."""

import atexit
from functools import cache

from django.conf import settings
from django.db import connections

from hermes_site.postgres.attachment import Address, Attachment
from hermes_site.postgres.server import ServerOptions


@cache
def attachment() -> Attachment:
    options = ServerOptions(settings.EMBEDDED_POSTGRES_PROGRAMS, is_durable=settings.EMBEDDED_POSTGRES_IS_DURABLE)
    made = Attachment(settings.EMBEDDED_POSTGRES_HOME, options)
    atexit.register(close_connections_and_detach)
    return made


def attach(database: str) -> Address:
    """Make sure that the server runs and has this database. Raises ServerUnavailable."""
    return attachment().attach(database)


def close_connections_and_detach() -> bool:
    """End this process's use of the database; returns whether that stopped the server."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        if close_pool := getattr(connection, "close_pool", None):
            close_pool()
    return attachment().detach()


def stop_if_unused() -> bool:
    return attachment().stop_if_unused()
