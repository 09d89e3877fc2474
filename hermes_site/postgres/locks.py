"""Two file locks per server: a gate that one process passes at a time, and a shared one that says "in use".

The kernel drops both with the process that held them, so there is nothing stale to find after a crash. A lock belongs
to the open file; Python's files are closed in programs we start, so a child never holds its parent's lock by accident.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_site.postgres.errors import ServerUnavailable

GATE_TIMEOUT_SECONDS = 300.0
RETRY_SECONDS = 0.02


def open_lock(path: Path) -> int:
    """A descriptor of the lock file, which stays with the owner of its folder even when root is first."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CREAT, 0o644)
    if os.geteuid() == 0:
        folder = path.parent.stat()
        os.fchown(descriptor, folder.st_uid, folder.st_gid)
    return descriptor


def try_exclusive(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def gate(path: Path, timeout_seconds: float = GATE_TIMEOUT_SECONDS) -> Iterator[None]:
    """Hold the gate, waiting for whoever is starting or stopping the server just now."""
    descriptor = open_lock(path)
    try:
        deadline = time.monotonic() + timeout_seconds
        while not try_exclusive(descriptor):
            if time.monotonic() > deadline:
                raise ServerUnavailable(
                    f"Another process has been starting or stopping the database for {timeout_seconds:.0f} seconds "
                    f"and holds {path}; end that process and try again."
                )
            time.sleep(RETRY_SECONDS)
        yield
    finally:
        os.close(descriptor)


class UseMark:
    """The shared lock of one user of the server, held until `is_last` has been asked and the mark is closed."""

    def __init__(self, path: Path) -> None:
        self._descriptor = open_lock(path)
        # Nobody holds it exclusively outside the gate, and we are inside: this never waits.
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def is_last(self) -> bool:
        """Whether no other process uses the server. Only meaningful inside the gate."""
        return try_exclusive(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)
