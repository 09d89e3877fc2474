"""What a session's page shows of the play that fills it: how far it is, and what is not as in the original."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils import timezone
from django.utils.translation import gettext as _

from sessions_app.models import Play, PlayStatus, Session
from sessions_app.play_form import RATES, original_of_sample
from sessions_app.session_policy import overhead_of, policy_of, threshold_of, window_of
from sessions_app.templatetags.site import number

# A step that is due for so long is taken by nobody.
LATE: Final = timedelta(seconds=15)


@dataclass(frozen=True, slots=True)
class PlayBar:
    """A play. progress_pct is None while nobody has read how much there is. is_late: no worker takes its next step.

    changes: figures of the played session that are not the original's, in words with the reason.
    """

    play: Play
    progress_pct: float | None
    is_late: bool
    changes: tuple[str, ...]

    @property
    def is_running(self) -> bool:
        return self.play.status == PlayStatus.RUNNING

    @property
    def is_paused(self) -> bool:
        return self.play.status == PlayStatus.PAUSED

    @property
    def speeds(self) -> tuple[Speed, ...]:
        """The speeds to change to, and the one it plays at."""
        return tuple(Speed(rate, str(words), float(rate) == self.play.rate) for rate, words in RATES)


@dataclass(frozen=True, slots=True)
class Speed:
    """A speed that can be chosen. rate: how many times faster than recorded, as forms send it."""

    rate: str
    words: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class _Figures:
    """What decides when passes run, in tokens; None: unknown."""

    window: int | None
    overhead: int | None
    threshold: int | None


def read_play(session: Session) -> PlayBar | None:
    """The play into a session, which comes with its project; None for the others."""
    if session.source != Session.HOSTED:
        return None
    # What it plays is read when there is one, for most sessions are filled by no play.
    play = Play.objects.filter(session_id=session.pk).first()
    if play is None:
        return None
    play.session = session
    return bar_of(play)


def bar_of(play: Play) -> PlayBar:
    """What is shown of a play, which comes with its session."""
    total = play.steps_total
    is_late = play.status == PlayStatus.RUNNING and play.next_at is not None and play.next_at + LATE < timezone.now()
    progress_pct = round(100 * play.steps_done / total, 1) if total else None
    return PlayBar(play, progress_pct, is_late, changes_of(play))


def changes_of(play: Play) -> tuple[str, ...]:
    """Why passes of the played session may run at other moments than in the original, a figure each."""
    original = original_of_sample(play.sample) if play.sample else play.recorded
    if original is None:
        return ()
    here, there = _figures_of(play.session), _figures_of(original)
    told = (
        (_("window {} instead of {} ({})"), here.window, there.window, _why_window(play, there)),
        (_("fixed overhead {} instead of {} ({})"), here.overhead, there.overhead, _why(there.overhead)),
        (_("threshold {} instead of {} ({})"), here.threshold, there.threshold, _("by the settings of this project")),
    )
    return tuple(words.format(_tokens(new), _tokens(old), why) for words, new, old, why in told if new != old)


def _figures_of(session: Session) -> _Figures:
    threshold = threshold_of(session, policy_of(session))
    return _Figures(window_of(session).context_tokens, overhead_of(session), threshold.tokens)


def _why_window(play: Play, there: _Figures) -> str:
    if play.sample:
        return _("small enough that a short sample has passes")
    return _why(there.window)


def _why(original_tokens: int | None) -> str:
    if original_tokens is None:
        return _("taken from this project")
    return _("one of them was changed after the play began")


def _tokens(tokens: int | None) -> str:
    return _("unknown") if tokens is None else _("{} tokens").format(number(tokens))
