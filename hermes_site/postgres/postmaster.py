"""Recognising and ending the processes of our server, and no others.

A number in postmaster.pid proves nothing: after kill -9 the process may be a zombie, or the number may belong to
somebody else by now. A process counts as ours when it is called postgres, is alive, and works in our data folder
(every PostgreSQL process enters its data folder and never leaves it).
"""

import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from hermes_site.postgres.errors import ServerUnavailable

PROGRAM = "postgres"
STOP_TIMEOUT_SECONDS = 60.0
QUIT_TIMEOUT_SECONDS = 10.0
LEFTOVER_TIMEOUT_SECONDS = 5.0
RETRY_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class PidFile:
    """The lines of postmaster.pid that matter; a server that is only starting has not written all of them."""

    pid: int
    sockets: Path | None
    is_ready: bool


def read_pid_file(data: Path) -> PidFile | None:
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        pid = int(lines[0])
    except (OSError, ValueError, IndexError):
        return None
    sockets = Path(lines[4]) if len(lines) > 4 and lines[4].strip() else None
    return PidFile(pid, sockets, is_ready=len(lines) > 7 and lines[7].strip() == "ready")


def find_postmaster(data: Path) -> psutil.Process | None:
    """The living main process of the server on `data`, or None."""
    pid_file = read_pid_file(data)
    if pid_file is None:
        return None
    try:
        process = psutil.Process(pid_file.pid)
    except (psutil.Error, ValueError):
        return None
    return process if serves(process, data) else None


def serves(process: psutil.Process, data: Path) -> bool:
    """Whether the process is a living PostgreSQL process of this data folder."""
    try:
        if process.name() != PROGRAM or process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return False
        return Path(process.cwd()).samefile(data)
    except (psutil.Error, OSError):
        return False


def stop(process: psutil.Process, data: Path) -> None:
    """End the server: politely, then firmly. It recovers from its log at the next start even after the latter."""
    if not serves(process, data):
        return
    # SIGINT is PostgreSQL's "fast" shutdown: sessions are ended, everything is written.
    for number, timeout_seconds in ((signal.SIGINT, STOP_TIMEOUT_SECONDS), (signal.SIGQUIT, QUIT_TIMEOUT_SECONDS)):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
        if not wait_for_end([process], data, timeout_seconds):
            return
    raise ServerUnavailable(f"The database process {process.pid} on {data} does not stop.")


def leftovers(data: Path) -> Sequence[psutil.Process]:
    """Processes of a server whose main process is gone. They end by themselves once they notice, usually at once."""
    return [process for process in psutil.process_iter() if serves(process, data)]


def clear_leftovers(data: Path) -> None:
    """Wait for the remains of a killed server, end those that don't notice, and drop a pid file that lies.

    PostgreSQL itself takes any living process with the number in that file for a server, even a zombie.
    """
    staying = wait_for_end(leftovers(data), data, LEFTOVER_TIMEOUT_SECONDS)
    for process in staying:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    wait_for_end(staying, data, QUIT_TIMEOUT_SECONDS)
    (data / "postmaster.pid").unlink(missing_ok=True)


def wait_for_end(processes: Sequence[psutil.Process], data: Path, timeout_seconds: float) -> Sequence[psutil.Process]:
    """Wait until none of them serves `data` any more; returns those that still do.

    A zombie has ended: where nobody collects orphans, as in many containers, it stays in the process table for good.
    """
    deadline = time.monotonic() + timeout_seconds
    while (staying := [process for process in processes if serves(process, data)]) and time.monotonic() < deadline:
        time.sleep(RETRY_SECONDS)
    return staying


def clear_sockets(sockets: Path) -> None:
    """Remove the socket and its lock file after a kill; the folder is private to our server, which isn't running."""
    for path in sockets.glob(".s.PGSQL.*"):
        path.unlink(missing_ok=True)
