"""Setting up, starting and stopping one PostgreSQL server. Callers hold the gate of its place."""

import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from hermes_site.postgres.account import popen_options
from hermes_site.postgres.binaries import Binaries, choose_binaries
from hermes_site.postgres.complaint import complaint, read_log_from
from hermes_site.postgres.errors import ServerUnavailable
from hermes_site.postgres.place import Place, own
from hermes_site.postgres.postmaster import clear_leftovers, clear_sockets, find_postmaster, read_pid_file, stop

logger = logging.getLogger(__name__)

PORT = 5432
SUPERUSER = "postgres"
# An empty cluster with its write-ahead log takes some 40 MB; below this it would stop soon after its start.
FRESH_DATA_BYTES = 150_000_000
# Recovery after a crash can take long, but a server that says nothing for this long is stuck.
READY_TIMEOUT_SECONDS = 300.0
RETRY_SECONDS = 0.01
MAX_LOG_BYTES = 10_000_000

Setting = tuple[str, str]
SETTINGS: tuple[Setting, ...] = (
    ("listen_addresses", ""),
    ("unix_socket_permissions", "0700"),
    ("max_connections", "200"),
    ("logging_collector", "off"),
    ("log_destination", "stderr"),
    ("log_line_prefix", "%m [%p] "),
)


# Only for data that is thrown away after use: a crash of the machine, though not of the server, would ruin it.
THROW_AWAY_SETTINGS: tuple[Setting, ...] = (("fsync", "off"), ("full_page_writes", "off"))


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """`programs` as in `choose_binaries`; `is_durable` off for the tests' throw-away data."""

    programs: str = "any"
    is_durable: bool = True
    fresh_data_bytes: int = FRESH_DATA_BYTES

    @property
    def settings(self) -> tuple[Setting, ...]:
        return SETTINGS if self.is_durable else (*SETTINGS, *THROW_AWAY_SETTINGS)


def ensure_running(place: Place, options: ServerOptions) -> Path:
    """Start the server unless it runs; returns its socket folder once it accepts connections."""
    process = find_postmaster(place.data)
    if process is not None:
        if sockets := reachable_sockets(place, process):
            return sockets
        # Somebody swept /tmp: the server lives on where nobody can reach it.
        stop(process, place.data)
    sockets = place.prepare_sockets()
    if place.data.exists():
        clear_leftovers(place.data)
    clear_sockets(sockets)
    binaries = choose_binaries(options.programs, place)
    if place.data_major is None:
        initialise(place, binaries, options)
    start(place, binaries, sockets, options)
    return sockets


def reachable_sockets(place: Place, process: psutil.Process) -> Path | None:
    """The socket folder of a running server, or None when it ended meanwhile or can't be reached."""
    try:
        wait_until_ready(place, process)
    except (ServerUnavailable, psutil.NoSuchProcess):
        return None
    pid_file = read_pid_file(place.data)
    if pid_file is None or pid_file.sockets is None:
        return None
    return pid_file.sockets if (pid_file.sockets / f".s.PGSQL.{PORT}").is_socket() else None


def initialise(place: Place, binaries: Binaries, options: ServerOptions) -> None:
    """Make the data folder. It gets its name when it is complete, so a killed set-up leaves no half of one."""
    for leftover in place.home.glob("unfinished-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    free_bytes = shutil.disk_usage(place.home).free
    if free_bytes < options.fresh_data_bytes:
        raise complaint("be set up", "No space left on device", place.home, place.sockets)
    if place.is_relocated:
        logger.warning(
            "User %s can't enter %s, so the database is kept in %s", place.server_user, place.wanted, place.home
        )
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=place.home))
    try:
        own(unfinished, place.account)
        outcome = run_initdb(place, binaries, unfinished, options)
        if outcome.returncode != 0:
            raise complaint("be set up", outcome.stdout, place.home, place.sockets)
        if place.data.exists():
            place.data.rmdir()
        unfinished.rename(place.data)
    except OSError as error:
        raise complaint("be set up", f"error: {error}", place.home, place.sockets) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def run_initdb(
    place: Place, binaries: Binaries, target: Path, options: ServerOptions
) -> subprocess.CompletedProcess[str]:
    command = [
        *(str(binaries.initdb), "-D", str(target), "-U", SUPERUSER),
        *("--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions"),
        # Who may enter the socket folder may use the database; nobody else can reach it.
        *("--auth-local=trust", "--auth-host=reject"),
        *(() if options.is_durable else ("--no-sync",)),
    ]
    return subprocess.run(
        command,
        cwd=place.home,
        env=server_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        **popen_options(place.account),
    )


def start(place: Place, binaries: Binaries, sockets: Path, options: ServerOptions) -> None:
    """Start the server and wait until it accepts connections. Raises ServerUnavailable with its own last words."""
    settings = (*options.settings, ("unix_socket_directories", str(sockets)), ("port", str(PORT)))
    command = [str(binaries.postgres), "-D", str(place.data), *command_line_settings(settings)]
    rotate_log(place)
    with open_log(place) as log:
        offset = log.tell()
        try:
            child = subprocess.Popen(
                command,
                cwd=place.home,
                env=server_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in our terminal is ours to answer; the server is stopped when its users are done.
                start_new_session=True,
                **popen_options(place.account),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise complaint("start", f"error: {error}", place.data, sockets, place.log) from error
    CHILDREN.append(child)
    try:
        wait_until_ready(place, psutil.Process(child.pid))
    except (ServerUnavailable, psutil.NoSuchProcess):
        child.poll()
        raise complaint("start", read_log_from(place.log, offset), place.data, sockets, place.log) from None


# Kept so that the end of a server is noticed by `reap` and never by the garbage collector's warning.
CHILDREN: list[subprocess.Popen[bytes]] = []


def reap() -> None:
    """Take note of servers of ours that have ended, so that none stays a zombie."""
    CHILDREN[:] = [child for child in CHILDREN if child.poll() is None]


def wait_until_ready(place: Place, process: psutil.Process) -> None:
    """Wait for the server to say in its pid file that it accepts connections."""
    deadline = time.monotonic() + READY_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        pid_file = read_pid_file(place.data)
        if pid_file is not None and pid_file.pid == process.pid and pid_file.is_ready:
            return
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            raise ServerUnavailable("The database ended while it was starting.")
        time.sleep(RETRY_SECONDS)
    raise ServerUnavailable(f"The database did not get ready in {READY_TIMEOUT_SECONDS:.0f} s (log: {place.log}).")


def command_line_settings(settings: Iterable[Setting]) -> list[str]:
    return [part for name, value in settings for part in ("-c", f"{name}={value}")]


def server_environment() -> dict[str, str]:
    """Nothing of ours: PG* variables and locales of the operator's would change what the server does."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "HOME": "/"}


def rotate_log(place: Place) -> None:
    """Keep one older log; the server holds its file open, so this can only be done between two runs."""
    try:
        if place.log.stat().st_size > MAX_LOG_BYTES:
            place.log.replace(place.log.with_suffix(".log.1"))
    except FileNotFoundError:
        return


def open_log(place: Place) -> IO[bytes]:
    log = place.log.open("ab")
    if os.geteuid() == 0:
        folder = place.home.stat()
        os.fchown(log.fileno(), folder.st_uid, folder.st_gid)
    return log
