"""How long tests wait for what happens elsewhere, in another thread or process, before they call it a failure."""

import time

import pytest

PATIENCE_SECONDS = 20


def attempts(what):
    """One attempt after the other, as long as waiting makes sense; then a failure called `what`."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        yield
    pytest.fail(what)


def eventually(holds, what):
    """Wait for something that no message tells of."""
    for _ in attempts(what):
        if holds():
            return
        time.sleep(0.02)
