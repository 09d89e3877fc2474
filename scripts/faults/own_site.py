"""A site of the script's own: started in a folder of its own on a free port, hurt by number, stopped.

Only processes of this site are ever signalled: the children of the `serve` that was started here, and the PostgreSQL
processes that work in its data folder. `DATABASE_URL` is taken out of the environment, so no other database is reached.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil

CHECKOUT: Final = Path(__file__).resolve().parents[2]
START_SECONDS: Final = 120.0
STOP_SECONDS: Final = 60.0
DRAIN_SECONDS: Final = 240.0
# More than any script asks: the rate limit is tested elsewhere.
REQUESTS_A_MINUTE: Final = "1000000"


def make_folder() -> Path:
    """A folder of our own that the database's user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-faults-"))
    folder.chmod(0o755)
    return folder


def use_folder(folder: Path) -> None:
    """Let this process, and all that it starts, work on the site in `folder`. To be called before Django is loaded."""
    os.environ.pop("DATABASE_URL", None)
    os.environ.pop("HERMES_SITE_ALLOWED_HOSTS", None)
    os.environ |= {
        "HERMES_SITE_VAR_DIR": str(folder / "var"),
        "HERMES_SITE_OUTBOUND_LOOPBACK": "yes",
        "HERMES_SITE_API_REQUESTS_A_MINUTE": REQUESTS_A_MINUTE,
        "DJANGO_SETTINGS_MODULE": "hermes_site.settings",
        "PYTHONUNBUFFERED": "1",
    }
    sys.path.insert(0, str(CHECKOUT))


def run_in_folder(arguments: argparse.Namespace, run: Callable[[argparse.Namespace, Path], int]) -> int:
    """Let `run` work on a site in a new folder, which is cleared away unless it is to be kept; the exit code."""
    folder = make_folder()
    use_folder(folder)
    print(f"seed {arguments.seed}, in {folder}", flush=True)
    try:
        return run(arguments, folder)
    finally:
        leave_database()
        if not arguments.keep:
            clear_away(folder)


def leave_database() -> None:
    """Give up this process's connections, so that its part in the embedded server ends."""
    from hermes_site.postgres import embedded

    embedded.close_connections_and_detach()


def drain() -> float:
    """Wait until no turn and no job is open any more, or too long; the seconds it took."""
    from laws import open_jobs, open_turns

    started = time.monotonic()
    wait_until(lambda: not open_turns() and not open_jobs(), DRAIN_SECONDS, pause_seconds=0.5)
    return time.monotonic() - started


class OwnSite:
    """A running `manage.py serve`; `lines` is what it has printed."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "var" / "postgres" / "data"
        self.lines: list[str] = []
        self.url = ""
        self._is_up = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", "--port", "0", "--no-samples"],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("Serving on "):
                self.url = line.split()[2].rstrip("/")
                self._is_up.set()

    def wait_until_up(self) -> None:
        """Wait until it answers. Raises TimeoutError with what it said."""
        if not self._is_up.wait(START_SECONDS):
            raise TimeoutError("the site did not come up:\n" + "\n".join(self.lines))

    def child(self, name: str) -> psutil.Process | None:
        """The living `web` or `worker` process; None while it is dead."""
        for process in psutil.Process(self.process.pid).children():
            try:
                if f"hermes_site.serve.{name}" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                    return process
            except psutil.NoSuchProcess:
                continue
        return None

    def postmaster(self) -> psutil.Process | None:
        """The living main process of the database; None while it is dead."""
        from hermes_site.postgres.postmaster import find_postmaster

        return find_postmaster(self.data)

    def restarts(self) -> int:
        """How often it said that it starts something again."""
        return sum("starting it again" in line for line in self.lines)

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self._reader.join(STOP_SECONDS)


def clear_away(folder: Path) -> None:
    """Remove the folder, the server's socket folder, and a server that was left over."""
    from hermes_site.postgres.errors import ServerUnavailable
    from hermes_site.postgres.place import find_place
    from hermes_site.postgres.postmaster import find_postmaster, stop

    try:
        place = find_place(folder / "var" / "postgres")
        if process := find_postmaster(place.data):
            stop(process, place.data)
        if place.has_private_sockets():
            shutil.rmtree(place.sockets)
    except ServerUnavailable as error:
        print(f"not cleared away: {error}", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)


def wait_until(is_so: Callable[[], bool], seconds: float, pause_seconds: float = 0.05) -> bool:
    """Ask until it is so; False when it was not within so many seconds."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause_seconds)
    return True
