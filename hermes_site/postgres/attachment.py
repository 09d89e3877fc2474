"""One process's use of the embedded server: attach, keep it alive, detach.

The idea stands in the package's docstring. Attaching twice from one process is the same as once. A forked child has
its parent's attachment in memory but must make its own, so the process id is part of the state.
"""

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from hermes_site.postgres.errors import ServerUnavailable
from hermes_site.postgres.locks import UseMark, gate
from hermes_site.postgres.place import Place, find_place
from hermes_site.postgres.postmaster import clear_sockets, find_postmaster, stop
from hermes_site.postgres.server import PORT, SUPERUSER, ServerOptions, ensure_running, reap

CONNECT_TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Address:
    """What libpq needs to know to reach a database of the server."""

    sockets: Path
    port: int
    user: str
    name: str

    @property
    def url(self) -> str:
        return f"postgresql://{self.user}@/{self.name}?host={self.sockets}&port={self.port}"


class Attachment:
    """This process's hold on the server whose files are wanted in `home`; safe to share between threads."""

    def __init__(self, home: Path, options: ServerOptions) -> None:
        self._home = home
        self._options = options
        self._thread_lock = threading.RLock()
        self._mark: UseMark | None = None
        self._place: Place | None = None
        self._pid = os.getpid()

    @property
    def place(self) -> Place:
        with self._thread_lock:
            if self._place is None:
                self._place = find_place(self._home)
            return self._place

    def attach(self, database: str) -> Address:
        """Make sure that the server runs and has this database, and that it stays until `detach`."""
        with self._thread_lock:
            self._forget_after_fork()
            self.place.prepare()
            with gate(self.place.gate_lock):
                mark = self._mark or UseMark(self.place.users_lock)
                try:
                    address = self._reach(database)
                except BaseException:
                    if self._mark is None:
                        self._give_up(mark)
                    raise
                self._mark = mark
                return address

    def _give_up(self, mark: UseMark) -> None:
        """Leave no half-started server behind when attaching failed or was interrupted."""
        with suppress(ServerUnavailable):
            if mark.is_last():
                self._stop()
        mark.close()

    def _reach(self, database: str) -> Address:
        reap()
        sockets = ensure_running(self.place, self._options)
        address = Address(sockets, PORT, SUPERUSER, database)
        create_database_if_missing(address)
        return address

    def is_server_alive(self) -> bool:
        """A cheap look, without a lock, for whoever watches over the server."""
        reap()
        return find_postmaster(self.place.data) is not None

    def detach(self) -> bool:
        """Let go; the last one to let go stops the server. Returns whether that was us."""
        with self._thread_lock:
            self._forget_after_fork()
            if self._mark is None:
                return False
            with gate(self.place.gate_lock):
                was_last = self._mark.is_last()
                if was_last:
                    self._stop()
                self._mark.close()
                self._mark = None
            return was_last

    def stop_if_unused(self) -> bool:
        """Stop a server nobody holds, for a process whose parent may have been killed before it attached itself."""
        with self._thread_lock:
            self._forget_after_fork()
            if self._mark is not None or not self.place.home.exists():
                return False
            with gate(self.place.gate_lock):
                mark = UseMark(self.place.users_lock)
                try:
                    if not mark.is_last():
                        return False
                    self._stop()
                    return True
                finally:
                    mark.close()

    def _stop(self) -> None:
        if process := find_postmaster(self.place.data):
            stop(process, self.place.data)
        reap()
        if self.place.has_private_sockets():
            clear_sockets(self.place.sockets)
            with suppress(OSError):
                self.place.sockets.rmdir()

    def _forget_after_fork(self) -> None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._mark = None


def create_database_if_missing(address: Address) -> None:
    """Create the database; other processes wait at the gate meanwhile, so there is no race to lose."""
    try:
        with psycopg.connect(
            host=str(address.sockets),
            port=address.port,
            user=address.user,
            dbname="postgres",
            autocommit=True,
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
        ) as connection:
            found = connection.execute("select 1 from pg_database where datname = %s", [address.name]).fetchone()
            if found is None:
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(address.name)))
    except psycopg.Error as error:
        raise ServerUnavailable(f"The database does not answer at {address.sockets}: {error}") from error
