"""Plays: begun, moved on step by step, paused, stopped. What they append and finish goes through the other services.

A play is a chain of short jobs, each of which asks for the next one in the transaction that notes how far it came. So a
play outlives every process, and no worker is held while it waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from compaction.storable import storable_text
from sessions_app.deferring import defer_play, forget_waiting_steps
from sessions_app.models import Play, PlayStatus, Project, Session
from sessions_app.services.lifecycle import create_session


@dataclass(frozen=True, slots=True)
class PlaySource:
    """What is played: a stored session, or a sample by its name. Figures are those of its model."""

    title: str
    recorded: Session | None = None
    sample: str = ""
    model: str | None = None
    window_tokens: int | None = None
    fixed_overhead_tokens: int | None = None


def request_play(
    project: Project, source: PlaySource, rate: float, title: str, created_by: AbstractBaseUser | None = None
) -> Play:
    """A play into a new session of `project`, called `title`, with its first job."""
    with transaction.atomic():
        session = create_session(
            project,
            title,
            model=source.model,
            window_tokens=source.window_tokens,
            fixed_overhead_tokens=source.fixed_overhead_tokens,
        )
        play = Play.objects.create(
            session=session,
            recorded=source.recorded,
            until_seq=None if source.recorded is None else source.recorded.last_seq,
            sample=source.sample,
            title=source.title,
            rate=rate,
            created_by_id=None if created_by is None else created_by.pk,
            next_at=timezone.now(),
        )
        defer_play(play.pk, play.ticket, 0)
    return play


def note_totals(play: Play, steps: int, turns: int) -> None:
    """Note how much there is to play."""
    play.steps_total, play.turns_total = steps, turns
    play.save(update_fields=["steps_total", "turns_total"])


def move_play(play: Play, steps_done: int, turns_done: int, wait_seconds: float | None) -> bool:
    """Note how far the play has come, and ask for the next step after a wait; None: there is none, the play is over.

    False when it was paused, stopped or taken over by another job meanwhile: then nothing is asked for, and only what
    was played is noted.
    """
    with transaction.atomic():
        stored = Play.objects.select_for_update().get(pk=play.pk)
        stored.steps_done, stored.turns_done = max(stored.steps_done, steps_done), max(stored.turns_done, turns_done)
        is_ours = stored.status == PlayStatus.RUNNING and stored.ticket == play.ticket
        if wait_seconds is None and not stored.is_over:
            stored.status, stored.finished_at, stored.next_at = PlayStatus.DONE, timezone.now(), None
        elif is_ours and wait_seconds is not None:
            stored.next_at = in_seconds(wait_seconds)
            defer_play(play.pk, play.ticket, wait_seconds)
        stored.save(update_fields=["steps_done", "turns_done", "status", "finished_at", "next_at"])
    return is_ours


def in_seconds(seconds: float) -> datetime:
    """The moment that lies so far ahead."""
    return timezone.now() + timedelta(seconds=seconds)


def pause_play(play_id: int) -> bool:
    """Let the play wait until it is resumed. False when it does not run."""
    return _changed(play_id, _pause)


def resume_play(play_id: int) -> bool:
    """Go on with a play that was paused, or that no job moves any more. False when it is over."""
    return _changed(play_id, _resume)


def cancel_play(play_id: int) -> bool:
    """End the play where it is; what was played stays. False when it is over already."""
    return _changed(play_id, _cancel)


def change_rate(play_id: int, rate: float) -> bool:
    """Play `rate` times as fast as recorded from now on; what is left of the wait before the next step shrinks or grows
    with it. False when the play is over."""

    def change(play: Play) -> bool:
        left_seconds = _seconds_left(play) * play.rate / rate
        play.rate = rate
        if play.status == PlayStatus.RUNNING:
            _ask_anew(play, left_seconds)
        return True

    return _changed(play_id, change)


def _seconds_left(play: Play) -> float:
    """How long the play still waits before its next step."""
    return 0.0 if play.next_at is None else max((play.next_at - timezone.now()).total_seconds(), 0.0)


def fail_play(play_id: int, error: str) -> None:
    """Note that the play can't go on."""

    def fail(play: Play) -> bool:
        _end(play, PlayStatus.FAILED)
        play.error = storable_text(error)
        return True

    _changed(play_id, fail)


def _changed(play_id: int, change: Callable[[Play], bool]) -> bool:
    """Change a play that is not over, under its lock."""
    with transaction.atomic():
        play = Play.objects.select_for_update().filter(pk=play_id).first()
        if play is None or play.is_over or not change(play):
            return False
        play.save(update_fields=["status", "rate", "ticket", "next_at", "finished_at", "error"])
    return True


def _pause(play: Play) -> bool:
    if play.status != PlayStatus.RUNNING:
        return False
    play.status, play.next_at = PlayStatus.PAUSED, None
    _take_back(play)
    return True


def _resume(play: Play) -> bool:
    play.status = PlayStatus.RUNNING
    _ask_anew(play, 0)
    return True


def _cancel(play: Play) -> bool:
    _end(play, PlayStatus.CANCELLED)
    return True


def _end(play: Play, status: PlayStatus) -> None:
    play.status, play.next_at, play.finished_at = status, None, timezone.now()
    _take_back(play)


def _ask_anew(play: Play, wait_seconds: float) -> None:
    """Ask for the next step after a wait, instead of what was asked for before."""
    _take_back(play)
    play.next_at = in_seconds(wait_seconds)
    defer_play(play.pk, play.ticket, wait_seconds)


def _take_back(play: Play) -> None:
    """Let what was asked for so far be void: jobs that wait are forgotten, one that runs holds an old ticket."""
    forget_waiting_steps(play.pk)
    play.ticket += 1
