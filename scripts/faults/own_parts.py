"""The parts of a site as an operator runs them: any number of web processes and workers on one database.

Each is a process of its own, as README says for production; only these are signalled. The database is the embedded one
of the script's folder, which the script itself holds while the parts run.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Final
from urllib.request import urlopen

from own_site import CHECKOUT, STOP_SECONDS, wait_until

START_SECONDS: Final = 120.0


class OwnParts:
    """Running web processes and workers. `urls`: one address for each web process."""

    def __init__(self, folder: Path, webs: int, workers: int) -> None:
        self.urls: list[str] = []
        self._log = (folder / "parts.log").open("ab")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        for number in range(1, webs + 1):
            self._start_web(f"web {number}")
        for number in range(1, workers + 1):
            self._processes[f"worker {number}"] = self._start([sys.executable, "manage.py", "worker"])

    def _start_web(self, name: str) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
            self.urls.append(f"http://127.0.0.1:{listener.getsockname()[1]}")
            command = [sys.executable, "-m", "uvicorn", "hermes_site.asgi:application", "--no-access-log"]
            command += ["--timeout-graceful-shutdown", "3", "--fd", str(listener.fileno())]
            self._processes[name] = self._start(command, listener.fileno())

    def _start(self, command: list[str], *descriptors: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=descriptors,
            start_new_session=True,
        )

    def wait_until_up(self) -> None:
        """Wait until every web process answers. Raises TimeoutError."""
        for url in self.urls:
            if not wait_until(partial(answers, url), START_SECONDS):
                raise TimeoutError(f"{url} did not come up")

    def ended(self) -> list[str]:
        """What has ended by itself, with its code."""
        return [f"{name} ended with code {code}" for name, one in self._processes.items() if (code := one.poll())]

    def stop(self) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._log.close()


def answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/healthz", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
