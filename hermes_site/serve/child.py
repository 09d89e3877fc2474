"""One child process of the site: started, watched, started again after a pause that grows, stopped."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
# A child that lived this long was well, whatever ended it: its next death starts from the shortest pause again. Ten
# seconds are enough that a child which dies over and over can't keep the machine busy.
WELL_AFTER_SECONDS = 10.0


@dataclass(slots=True)
class Child:
    """A module run as a process of its own. Times are the caller's monotonic seconds."""

    name: str
    module: str
    folder: Path
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    descriptors: tuple[int, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_again_at: float | None = None
    deaths_in_a_row: int = 0

    def start(self, now: float) -> None:
        self.started_at = now
        self.start_again_at = None
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.module, *self.arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            # The child reads this pipe and nobody writes: it ends with us, however we end (parent_watch).
            stdin=subprocess.PIPE,
            pass_fds=self.descriptors,
            # Ctrl-C reaches the parent alone, which stops its children in order.
            start_new_session=True,
        )

    def watch(self, now: float) -> int | None:
        """Start it again when its pause is over; returns the exit code when it has just been found dead."""
        if self.process is None:
            if self.start_again_at is not None and now >= self.start_again_at:
                self.start(now)
            return None
        code = self.process.poll()
        if code is None:
            return None
        self.close()
        self.deaths_in_a_row = 1 if now - self.started_at > WELL_AFTER_SECONDS else self.deaths_in_a_row + 1
        self.start_again_at = now + self.pause_seconds
        return code

    @property
    def pause_seconds(self) -> float:
        return min(FIRST_PAUSE_SECONDS * 2.0 ** (self.deaths_in_a_row - 1), LONGEST_PAUSE_SECONDS)

    def ask_to_stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait_or_kill(self, timeout_seconds: float) -> None:
        if self.process is None:
            return
        try:
            self.process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.close()

    def close(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
        self.process = None


def describe_exit(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}"
