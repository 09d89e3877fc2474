"""What a plain connection beside Django's needs to know: one that holds a lock, or that only watches."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

NAMES = ("dbname", "user", "password", "host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "service")
CONNECT_TIMEOUT_SECONDS = 10


def plain_parameters(wrapper: BaseDatabaseWrapper) -> dict[str, Any]:
    """Keyword arguments for `psycopg.connect`: Django's, without what only its own connections understand."""
    parameters = wrapper.get_connection_params()
    return {name: parameters[name] for name in NAMES if name in parameters} | {
        "connect_timeout": CONNECT_TIMEOUT_SECONDS
    }
