"""Ends this process when its parent ends, by whatever means: standard input is a pipe that only the parent holds."""

import os
import signal
import sys
import threading
import time
from types import FrameType

# Longer than both the web server and the worker take to finish what they are doing.
PATIENCE_SECONDS = 12.0


def end_with_parent() -> None:
    """Answer SIGTERM by leaving in order, and send it to ourselves once the parent is gone."""
    signal.signal(signal.SIGTERM, leave)
    threading.Thread(target=wait_for_end_of_parent, name="parent-watch", daemon=True).start()


def leave(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def wait_for_end_of_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_SECONDS)
    os._exit(1)
