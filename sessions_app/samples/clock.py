"""Giving rows their times: work takes what it takes, and the time a person needs between turns fills up the phase.

The gaps before turns are drawn at random and then scaled, all by the same factor, so that each phase lasts exactly as
long as the story says, breaks included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from sessions_app.samples.story import Phase
from sessions_app.samples.transcript import SampleRow, SampleTurn

QUICK_ANSWER_SECONDS = 20.0
USUAL_GAP_SECONDS = 100.0


def time_phase(
    phase: Phase, turns: Sequence[SampleTurn], started_at: float, random: Random, has_begun: bool
) -> Iterator[SampleTurn]:
    """The phase's turns with times: the first row comes at `started_at` unless the session `has_begun` before, the
    last one `phase.seconds` later."""
    gaps = [QUICK_ANSWER_SECONDS + random.expovariate(1 / USUAL_GAP_SECONDS) for _ in turns]
    if not has_begun:
        gaps[0] = 0.0
    work = sum(row.seconds for turn in turns for row in turn.rows)
    breaks = sum(turn.pause_seconds for turn in phase.turns)
    stretch = max(0.05, (phase.seconds - work - breaks) / (sum(gaps) or 1.0))
    at = started_at
    for turn, planned, gap in zip(turns, phase.turns, gaps, strict=True):
        at += planned.pause_seconds + gap * stretch
        timed = tuple(time_rows(turn.rows, at))
        at = timed[-1].at
        yield replace(turn, rows=timed)


def time_rows(rows: Sequence[SampleRow], at: float) -> Iterator[SampleRow]:
    """The rows, each one later than the one before by the seconds it took."""
    for row in rows:
        at += row.seconds
        yield replace(row, at=round(at, 3))
