"""Simulations of a session: the list, one run with its progress, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from sessions_app.models import PassKind, ReplayRun, ReplayStep, RunStatus, Session
from sessions_app.pages.occupancy import Tick, share_ticks, share_top
from sessions_app.pages.pass_words import icon_of, is_failed, outcome_words
from sessions_app.pages.replay import drawn_steps, run_points
from sessions_app.punctuation import colon
from sessions_app.rendering.curve import Curve, draw_curve, thin_out
from sessions_app.rendering.rail import Mark, lay_out

STEPS_A_PAGE = 100
NEWEST_RUNS = 30


@dataclass(frozen=True, slots=True)
class RunResult:
    """The figures of a finished run; None where it does not say."""

    rows: int | None
    live_rows: int | None
    archived_rows: int | None
    summarizer_calls: int | None
    batch_passes: int | None
    peak_tokens: int | None
    last_occupancy_pct: float | None
    outcomes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class RunPage:
    """One run. progress_pct is None while the number of turns is unknown; first_pass: where stepping starts."""

    run: ReplayRun
    result: RunResult | None
    progress_pct: float | None
    curve: Curve | None
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    threshold_tokens: int | None
    steps: tuple[ReplayStep, ...]
    next_after: int | None
    only_passes: bool
    first_pass: int | None
    passes: int

    @property
    def is_over(self) -> bool:
        return self.run.status in (RunStatus.DONE, RunStatus.CANCELLED, RunStatus.FAILED)

    is_in_tokens = False

    @property
    def has_unknown(self) -> bool:
        return bool(self.curve and self.curve.gaps)


def newest_runs(session: Session) -> QuerySet[ReplayRun]:
    """The newest runs of a session."""
    runs = ReplayRun.objects.filter(session_id=session.pk).select_related("created_by").order_by("-id")
    return runs.defer("result", "policy_settings")[:NEWEST_RUNS]


def read_run(run: ReplayRun, after_number: int, *, only_passes: bool) -> RunPage:
    """A run with a page of its decisions."""
    steps = ReplayStep.objects.filter(run_id=run.pk).defer(
        "prompt_system", "prompt_user", "reply_text", "summary_before", "summary_after", "edit", "zones"
    )
    passes = steps.exclude(kind=PassKind.NOTHING)
    listed = (passes if only_passes else steps).filter(number__gt=after_number).order_by("number")
    found = list(listed[: STEPS_A_PAGE + 1])
    shown = tuple(found[:STEPS_A_PAGE])
    curve, marks, threshold = chart_of(run)
    progress = None if not run.progress_total else round(100 * run.progress_done / run.progress_total, 1)
    return RunPage(
        run=run,
        result=None if run.result is None else result_of(run.result),
        progress_pct=progress,
        curve=curve,
        marks=marks,
        ticks=share_ticks(curve) if curve else (),
        threshold_tokens=threshold,
        steps=shown,
        next_after=shown[-1].number if len(found) > STEPS_A_PAGE else None,
        only_passes=only_passes,
        first_pass=passes.order_by("number").values_list("number", flat=True).first(),
        passes=passes.count(),
    )


def result_of(stored: Mapping[str, Any]) -> RunResult:
    """The stored result."""
    outcomes = stored.get("outcomes") or {}
    return RunResult(
        rows=stored.get("rows"),
        live_rows=stored.get("live_rows"),
        archived_rows=stored.get("archived_rows"),
        summarizer_calls=stored.get("summarizer_calls"),
        batch_passes=stored.get("batch_passes"),
        peak_tokens=stored.get("peak_tokens"),
        last_occupancy_pct=stored.get("last_occupancy_pct"),
        outcomes=tuple(sorted(outcomes.items(), key=lambda item: -item[1])),
    )


def chart_of(run: ReplayRun) -> tuple[Curve | None, tuple[Mark, ...], int | None]:
    """The occupancy curve over decisions with its rail, and the threshold it is a share of."""
    steps, acted = drawn_steps(run.pk)
    if not steps:
        return None, (), None
    points = thin_out(run_points(steps))
    curve = draw_curve(points, share_top(points))
    marks = lay_out([mark_of(run, curve, step) for step in acted])
    return curve, marks, steps[-1].threshold_tokens


def mark_of(run: ReplayRun, curve: Curve, step: ReplayStep) -> Mark:
    place = curve.left_pct(2 * step.number)
    return Mark(
        number=step.number,
        icon=icon_of(step),
        words=f"{step.number}{colon()}{outcome_words(step)}",
        href=reverse("run_replay", args=[run.session.public_id, run.pk, step.number, 1]),
        place_pct=place,
        shown_pct=place,
        is_failed=is_failed(step),
    )
