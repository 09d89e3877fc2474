"""A play in the background: what is due is appended and finished, then the next job is asked for.

Must not wait: between two steps no job runs. Each step can be taken again after a crash: rows carry ids by their place
in the recording, and a turn that was finished stays finished.
"""

from __future__ import annotations

from typing import Final

from compaction.errors import InvalidInput
from compaction.tokens import TokenCounter
from compaction.wording import worded
from sessions_app import services
from sessions_app.feeding.kept_steps import KeptSteps
from sessions_app.feeding.pace import Pace
from sessions_app.feeding.sources import recording_of_sample, recording_of_session
from sessions_app.feeding.steps import AppendRows, FinishTurn, Step, steps_of
from sessions_app.models import Play, PlayStatus, Session
from sessions_app.queries.replay_rows import fed_rows
from sessions_app.services.plays import fail_play, move_play, note_totals
from sessions_app.token_counting import site_counter

# A wait that is shorter is not worth a job of its own.
SHORTEST_WAIT_SECONDS: Final = 0.2
MOST_STEPS_A_JOB: Final = 20
MOST_ROWS: Final = 10_000


def run_play(play_id: int, ticket: int, counter: TokenCounter) -> None:
    """Play what is due and ask for the rest. A job whose ticket is no longer the play's does nothing."""
    play = Play.objects.filter(pk=play_id, ticket=ticket, status=PlayStatus.RUNNING).first()
    if play is None:
        return
    try:
        _play(play, counter)
    except Session.DoesNotExist:
        # It was deleted while it was played, and the play with it.
        return
    except InvalidInput as error:
        fail_play(play_id, error.said)
    except Exception as error:
        fail_play(play_id, worded("The play ended with a fault of ours ({}).", type(error).__name__))
        raise


def _play(play: Play, counter: TokenCounter) -> None:
    steps = told_steps(play)
    if play.steps_total is None:
        note_totals(play, len(steps), sum(isinstance(step, FinishTurn) for step in steps))
    pace, turns_done = Pace(play.rate), play.turns_done
    for number in range(play.steps_done, len(steps)):
        step = steps[number]
        take_step(play.session_id, step, counter)
        turns_done += isinstance(step, FinishTurn)
        wait = wait_before(steps[number + 1], pace) if number + 1 < len(steps) else None
        is_long = wait is None or wait >= SHORTEST_WAIT_SECONDS
        if is_long or number + 1 - play.steps_done >= MOST_STEPS_A_JOB:
            move_play(play, number + 1, turns_done, wait)
            return
    move_play(play, len(steps), turns_done, None)


def take_step(session_id: int, step: Step, counter: TokenCounter) -> None:
    """What an agent would do now."""
    if isinstance(step, AppendRows):
        services.append_rows(session_id, step.rows, counter)
    else:
        services.finish_turn(session_id, interrupted=step.interrupted)


def wait_before(step: Step, pace: Pace) -> float:
    """Seconds to wait before a step. A turn is finished as soon as its answer is there."""
    return pace.wait_seconds(step.pause_seconds) if isinstance(step, AppendRows) else 0.0


_KEPT: Final = KeptSteps()


def told_steps(play: Play) -> tuple[Step, ...]:
    """The steps of what is played. Raises InvalidInput when it is gone, holds no row, or far too many."""
    if play.sample:
        sample = play.sample
        return _KEPT.get(sample, lambda: tuple(steps_of(recording_of_sample(sample, site_counter()))))
    if play.recorded_id is None:
        raise InvalidInput(worded("the session that was played is gone"))
    session_id, until_seq = play.recorded_id, play.until_seq
    if until_seq is None:
        # It may still grow, so nothing of it is kept.
        return _steps_of_session(session_id, None)
    return _KEPT.get((session_id, until_seq), lambda: _steps_of_session(session_id, until_seq))


def _steps_of_session(session_id: int, until_seq: int | None) -> tuple[Step, ...]:
    rows = fed_rows(session_id, until_seq).count()
    if rows > MOST_ROWS:
        raise InvalidInput(worded("a play can have {:,} rows, and the session has {:,}", MOST_ROWS, rows))
    return tuple(steps_of(recording_of_session(Session.objects.get(pk=session_id), until_seq)))
