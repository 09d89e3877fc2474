"""The parent's loop: start the children, watch them and the database, stop everything when asked."""

import signal
import socket
import threading
import time
from pathlib import Path
from types import FrameType

from hermes_site.postgres.attachment import Attachment
from hermes_site.postgres.errors import ServerUnavailable
from hermes_site.serve.child import Child, describe_exit
from hermes_site.serve.preparation import Say

LOOK_SECONDS = 0.25
STOP_TIMEOUT_SECONDS = 10.0
READY_TIMEOUT_SECONDS = 60.0
# A web process that never once answered will not do so at the fourth try.
HOPELESS_DEATHS = 3


class NeverReady(Exception):
    """The web process did not come up; its own words are on the terminal already."""


class Supervisor:
    """`database` is None when the operator runs the database."""

    def __init__(self, listener: socket.socket, folder: Path, database: Attachment | None, say: Say) -> None:
        sockets = (listener.fileno(),)
        self._web = Child("web", "hermes_site.serve.web", folder, (str(listener.fileno()),), descriptors=sockets)
        self._worker = Child("worker", "hermes_site.serve.worker", folder)
        self._database = database
        self._retry_database_at = 0.0
        self._say = say
        self._stopping = threading.Event()

    @property
    def children(self) -> tuple[Child, ...]:
        return (self._web, self._worker)

    def answer_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._stopping.is_set():
            # Asked twice: somebody is in a hurry.
            for child in self.children:
                child.wait_or_kill(0)
        self._stopping.set()

    def start(self) -> None:
        """Start the children and wait for the web process to answer. Raises NeverReady."""
        for child in self.children:
            child.start(time.monotonic())
        deadline = time.monotonic() + READY_TIMEOUT_SECONDS
        while not self._stopping.is_set() and not self._web.is_ready:
            self._look()
            if time.monotonic() > deadline or self._web.deaths_in_a_row >= HOPELESS_DEATHS:
                raise NeverReady
            self._stopping.wait(LOOK_SECONDS / 5)

    def run_until_stopped(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        """One round: note who died, start again whoever's pause is over."""
        now = time.monotonic()
        self._look_after_database(now)
        for child in self.children:
            code = child.watch(now)
            if code is not None:
                self._say(f"The {child.name} process {describe_exit(code)}; starting it again.")

    def _look_after_database(self, now: float) -> None:
        if self._database is None or now < self._retry_database_at or self._database.is_server_alive():
            return
        self._say("The database ended; starting it again.")
        try:
            self._database.attach("postgres")
            self._say("The database is back.")
        except ServerUnavailable as error:
            self._retry_database_at = now + 5.0
            self._say(str(error))

    def stop(self) -> None:
        """Stop the children, together: the web process first stops accepting, the worker finishes or hands back."""
        for child in self.children:
            child.ask_to_stop()
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for child in self.children:
            child.wait_or_kill(max(0.0, deadline - time.monotonic()))
