"""What a session's page shows of the play that fills it: how far it is, and what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils import timezone

from sessions_app.models import Play, PlayStatus, Session

# A step that is due for so long is taken by nobody.
LATE: Final = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class PlayBar:
    """A play. progress_pct is None while nobody has read how much there is. is_late: no worker takes its next step."""

    play: Play
    progress_pct: float | None
    is_late: bool

    @property
    def is_running(self) -> bool:
        return self.play.status == PlayStatus.RUNNING

    @property
    def is_paused(self) -> bool:
        return self.play.status == PlayStatus.PAUSED


def read_play(session: Session) -> PlayBar | None:
    """The play into a session; None for the others."""
    if session.source != Session.HOSTED:
        return None
    play = Play.objects.select_related("recorded").filter(session_id=session.pk).first()
    return None if play is None else bar_of(play)


def bar_of(play: Play) -> PlayBar:
    """What is shown of a play."""
    total = play.steps_total
    is_late = play.status == PlayStatus.RUNNING and play.next_at is not None and play.next_at + LATE < timezone.now()
    return PlayBar(play, round(100 * play.steps_done / total, 1) if total else None, is_late)
