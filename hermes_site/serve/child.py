"""One child process of the site: started, watched, started again after a pause that grows, stopped.

A child gets the descriptor of a pipe as its last argument and writes one byte when it is at work. A child that never
came so far will hardly do so at once, so it is left alone longer and longer; one that was at work is soon back.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
# For children that were at work before they died, and may do so again and again: enough to leave the machine some air.
LONGEST_PAUSE_AFTER_WORK_SECONDS = 2.0
# A child that lived this long was well; its next death starts from the shortest pause again.
WELL_AFTER_SECONDS = 60.0


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
    failed_starts_in_a_row: int = 0
    was_ready: bool = False
    ready_pipe: int | None = None

    def start(self, now: float) -> None:
        self.started_at = now
        self.start_again_at = None
        self.was_ready = False
        self.ready_pipe, ready_end = os.pipe()
        os.set_blocking(self.ready_pipe, False)
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.module, *self.arguments, str(ready_end)],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            # The child reads this pipe and nobody writes: it ends with us, however we end (parent_watch).
            stdin=subprocess.PIPE,
            pass_fds=(*self.descriptors, ready_end),
            # Ctrl-C reaches the parent alone, which stops its children in order.
            start_new_session=True,
        )
        os.close(ready_end)

    @property
    def is_ready(self) -> bool:
        """Whether the process has said that it is at work."""
        if not self.was_ready and self.ready_pipe is not None:
            with suppress(BlockingIOError):
                self.was_ready = os.read(self.ready_pipe, 1) != b""
        return self.was_ready

    def watch(self, now: float) -> int | None:
        """Start it again when its pause is over; returns the exit code when it has just been found dead."""
        if self.process is None:
            if self.start_again_at is not None and now >= self.start_again_at:
                self.start(now)
            return None
        code = self.process.poll()
        if code is None:
            return None
        # What it said just before it died counts.
        self.failed_starts_in_a_row = 0 if self.is_ready else self.failed_starts_in_a_row + 1
        self.close()
        self.deaths_in_a_row = 1 if now - self.started_at > WELL_AFTER_SECONDS else self.deaths_in_a_row + 1
        self.start_again_at = now + self.pause_seconds
        return code

    @property
    def pause_seconds(self) -> float:
        if self.was_ready:
            return min(FIRST_PAUSE_SECONDS * 2.0 ** (self.deaths_in_a_row - 1), LONGEST_PAUSE_AFTER_WORK_SECONDS)
        return min(FIRST_PAUSE_SECONDS * 2.0 ** (self.failed_starts_in_a_row - 1), LONGEST_PAUSE_SECONDS)

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
        if self.ready_pipe is not None:
            os.close(self.ready_pipe)
            self.ready_pipe = None


def describe_exit(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}"
