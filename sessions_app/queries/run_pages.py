"""Replays of a session and their steps, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sessions_app.models import ReplayRun, ReplayStep

# Columns of a step that repeat whole prompts, replies and summaries.
HEAVY_COLUMNS: Final = (
    *("prompt_system", "prompt_user", "reply_text", "summary_before", "summary_after", "zones", "exchanges", "edit"),
    *("telemetry", "cache_estimate", "trigger"),
)


@dataclass(frozen=True, slots=True)
class RunPage:
    """Runs, newest first. next_before: the id to go on in front of, None at the end."""

    runs: tuple[ReplayRun, ...]
    next_before: int | None


@dataclass(frozen=True, slots=True)
class StepPage:
    """Steps in order. next_after: the number to go on behind, None at the end of what is stored so far."""

    steps: tuple[ReplayStep, ...]
    next_after: int | None


def read_run_page(session_id: int, before: int | None, limit: int) -> RunPage:
    """At most `limit` runs, in one query."""
    runs = ReplayRun.objects.filter(session_id=session_id).order_by("-id")
    if before is not None:
        runs = runs.filter(id__lt=before)
    found = list(runs[: limit + 1])
    shown = tuple(found[:limit])
    return RunPage(shown, shown[-1].pk if len(found) > limit else None)


def read_step_page(run_id: int, after: int, limit: int) -> StepPage:
    """At most `limit` steps behind number `after`, in one query."""
    steps = ReplayStep.objects.filter(run_id=run_id, number__gt=after).defer(*HEAVY_COLUMNS).order_by("number")
    found = list(steps[: limit + 1])
    shown = tuple(found[:limit])
    return StepPage(shown, shown[-1].number if len(found) > limit else None)
