"""The database engine of a site without DATABASE_URL: Django's own, plus attaching to the embedded server.

Attaching waits until something wants to connect, so commands that need no database start no server. It happens where
Django collects its connection parameters, because the pool, the job worker and plain connections all ask there.
"""

from typing import Any

from django.db.backends.postgresql import base
from django.db.backends.postgresql.client import DatabaseClient as PostgresClient

from hermes_site.postgres import embedded


class DatabaseClient(PostgresClient):
    """`manage.py dbshell`."""

    connection: "DatabaseWrapper"

    def runshell(self, parameters: Any) -> None:
        self.connection.attach()
        super().runshell(parameters)


class DatabaseWrapper(base.DatabaseWrapper):
    client_class = DatabaseClient

    def get_connection_params(self) -> dict[str, Any]:
        self.attach()
        return super().get_connection_params()

    def close_pool(self) -> None:
        """Unlike Django's, don't make a pool (and start a server) only to close it."""
        if self.alias in self._connection_pools:  # type: ignore[attr-defined]  # missing in the stubs
            super().close_pool()

    def attach(self) -> None:
        # Without a name Django means the maintenance database, to create or drop another one.
        address = embedded.attach(self.settings_dict["NAME"] or "postgres")
        self.settings_dict |= {"HOST": str(address.sockets), "PORT": str(address.port), "USER": address.user}
