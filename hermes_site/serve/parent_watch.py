"""Ends this process when its parent ends, by whatever means: standard input is a pipe that only the parent holds."""

import atexit
import os
import signal
import sys
import threading
import time
from types import FrameType

from django.conf import settings

from hermes_site.postgres import embedded

# Longer than both the web server and the worker take to finish what they are doing.
PATIENCE_SECONDS = 12.0


def end_with_parent() -> None:
    """Answer SIGTERM by leaving in order, and send it to ourselves once the parent is gone.

    A killed parent can't stop the embedded database, so the last of its children does, even one that has not used it.
    """
    if settings.DATABASE_ADDRESS is None:
        atexit.register(embedded.stop_if_unused)
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
