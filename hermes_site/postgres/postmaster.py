"""Recognising and ending the processes of our server, and no others.

A number in postmaster.pid proves nothing: after kill -9 the process may be a zombie, or the number may belong to
somebody else by now. A process counts as ours when it is called postgres, is alive, and works in our data folder
(every PostgreSQL process enters its data folder and never leaves it).
"""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from hermes_site.postgres.errors import ServerUnavailable

PROGRAM = "postgres"
STOP_TIMEOUT_SECONDS = 60.0
QUIT_TIMEOUT_SECONDS = 10.0
LEFTOVER_TIMEOUT_SECONDS = 5.0


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
        try:
            process.send_signal(number)
            process.wait(timeout_seconds)
            return
        except psutil.NoSuchProcess:
            return
        except psutil.TimeoutExpired:
            continue
    raise ServerUnavailable(f"The database process {process.pid} on {data} does not stop.")


def leftovers(data: Path) -> Sequence[psutil.Process]:
    """Processes of a server whose main process is gone. They end by themselves once they notice, usually at once."""
    return [process for process in psutil.process_iter() if serves(process, data)]


def clear_leftovers(data: Path) -> None:
    """Wait for the remains of a killed server, end those that don't notice, and drop a pid file that lies.

    PostgreSQL itself takes any living process with the number in that file for a server, even a zombie.
    """
    _, staying = psutil.wait_procs(leftovers(data), timeout=LEFTOVER_TIMEOUT_SECONDS)
    for process in staying:
        if serves(process, data):
            process.kill()
    psutil.wait_procs(staying, timeout=LEFTOVER_TIMEOUT_SECONDS)
    (data / "postmaster.pid").unlink(missing_ok=True)


def clear_sockets(sockets: Path) -> None:
    """Remove the socket and its lock file after a kill; the folder is private to our server, which isn't running."""
    for path in sockets.glob(".s.PGSQL.*"):
        path.unlink(missing_ok=True)
