"""What a trial of settings came to: one sentence each for the newest session and for all, and a line per session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sessions_app.models import PolicyTrial, RunStatus
from sessions_app.pages.forecast import say
from sessions_app.policy_trials import MOST_SECONDS, USUAL_ROWS, TrialFigures
from sessions_app.queries.project_figures import ProjectFigures
from sessions_app.templatetags.site import duration_ms, number


@dataclass(frozen=True, slots=True)
class TrialLine:
    """One session under the settings in force and under those that were tried."""

    public_id: str
    title: str
    turns: int
    now: TrialFigures
    then: TrialFigures


@dataclass(frozen=True, slots=True)
class TrialPage:
    """One trial. sentences: what came of it, while it is done."""

    trial: PolicyTrial
    lines: tuple[TrialLine, ...]
    sentences: tuple[SafeString, ...]
    left_out: tuple[str, ...]

    @property
    def is_over(self) -> bool:
        return self.trial.status not in (RunStatus.QUEUED, RunStatus.RUNNING)

    @property
    def progress_pct(self) -> float | None:
        total = self.trial.progress_total
        return None if not total else round(100 * self.trial.progress_done / total, 1)


def read_trial(trial: PolicyTrial, figures: ProjectFigures) -> TrialPage:
    """A trial with its result in sentences."""
    result = trial.result or {}
    lines = tuple(line_of(one) for one in result.get("sessions", ()))
    sentences = result_sentences(lines, figures) if trial.status == RunStatus.DONE else ()
    return TrialPage(trial, lines, sentences, left_out_words(result))


def line_of(stored: Mapping[str, Any]) -> TrialLine:
    return TrialLine(
        stored["public_id"],
        stored["title"] or stored["public_id"],
        stored["turns"],
        TrialFigures(**stored["now"]),
        TrialFigures(**stored["then"]),
    )


def result_sentences(lines: tuple[TrialLine, ...], figures: ProjectFigures) -> tuple[SafeString, ...]:
    if not lines:
        return (say(_("There is no session yet that these settings could be tried on.")),)
    now, then = [line.now for line in lines], [line.then for line in lines]
    text = ngettext(
        "Your last **{} session** would have had {} micro passes and {} batch stalls, in place of {} and {}.",
        "Your last **{} sessions** would have had {} micro passes and {} batch stalls, in place of {} and {}.",
        len(lines),
    )
    sums = (sum(one.micro for one in then), batches(then), sum(one.micro for one in now), batches(now))
    found = [say(text, len(lines), *map(number, sums))]
    found += waiting_sentences(batches(now) - batches(then), figures)
    found += peak_sentences(now, then)
    micro, rebilled = sums[0], sum(one.rebilled_tokens for one in then)
    if micro:
        freed = sum(one.freed_tokens for one in then)
        text = _("One pass re-bills **{} tokens** on average and gives back {}.")
        found.append(say(text, number(round(rebilled / micro)), number(round(freed / micro))))
    return tuple(found)


def batches(figures: list[TrialFigures]) -> int:
    return sum(one.batch for one in figures)


def waiting_sentences(fewer: int, figures: ProjectFigures) -> list[SafeString]:
    """What the difference in batches means in time, where this project has measured one."""
    if not fewer or figures.batch_ms is None:
        return []
    took = duration_ms(round(figures.batch_ms * abs(fewer)))
    text = _("That is about **{} less waiting**.") if fewer > 0 else _("That is about **{} more waiting**.")
    return [say(text, took)]


def peak_sentences(now: list[TrialFigures], then: list[TrialFigures]) -> list[SafeString]:
    """The highest occupancy; nothing where no threshold is known."""
    highest = [max((one.peak_pct for one in side if one.peak_pct is not None), default=None) for side in (then, now)]
    if highest[0] is None or highest[1] is None:
        return []
    return [say(_("Peak occupancy **{} %**, now {} %."), *(f"{share:,.1f}" for share in highest))]


def left_out_words(result: Mapping[str, Any]) -> tuple[str, ...]:
    """What the figures leave out, and why."""
    too_long, too_late = result.get("too_long", 0), result.get("too_late", 0)
    words = []
    if result.get("waits_for_cold"):
        words.append(_("A replay has no clock, so passes that wait for a cold cache are not in these figures."))
    if too_long:
        rows = result.get("too_long_rows", USUAL_ROWS)
        text = ngettext(
            "{} session has more than {} rows and was too long to try.",
            "{} sessions have more than {} rows and were too long to try.",
            too_long,
        )
        words.append(text.format(too_long, number(rows)))
    if too_late:
        text = ngettext(
            "Within {} seconds there was no time left for {} session, the longest ones coming last.",
            "Within {} seconds there was no time left for {} sessions, the longest ones coming last.",
            too_late,
        )
        words.append(text.format(round(MOST_SECONDS), too_late))
    return tuple(words)
