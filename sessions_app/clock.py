"""What time it is for the services: now, except while a session is played again as of the time it was recorded.

Services ask `now` for every time they store. `played` sets it aside for the duration of a block: rows, passes, turns
and events written in it happen when they happened in the session that is played. The setting belongs to the running
task alone, so requests and jobs beside it keep the real time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone


@dataclass(slots=True)
class PlayedTime:
    """The time in a played session. It stands still until it is moved on."""

    moment: datetime

    def pass_by(self, seconds: float) -> None:
        """Let time go by."""
        self.moment += timedelta(seconds=seconds)


_played: ContextVar[PlayedTime | None] = ContextVar("played_time", default=None)


def now() -> datetime:
    """The time to store, aware of its zone."""
    time = _played.get()
    return timezone.now() if time is None else time.moment


@contextmanager
def played(moment: datetime) -> Iterator[PlayedTime]:
    """Within the block it is `moment`, and later as the yielded time passes."""
    time = PlayedTime(moment)
    token = _played.set(time)
    try:
        yield time
    finally:
        _played.reset(token)
