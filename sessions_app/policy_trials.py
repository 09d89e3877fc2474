"""A trial of settings in the background: the project's newest sessions replayed under them and under those in force.

It drives the same replay as a simulation, so what it says is what would have happened with the offline summarizer.
Only figures are kept. Must not write: `services.trials` does. Bounded in rows and time, and what was left out is told:
sessions of usual length come first, and long ones take what is left of the time.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from compaction.errors import InvalidInput
from compaction.extractive import ExtractiveSummarizer
from compaction.messages import Row
from compaction.pass_context import make_context
from compaction.policy import CompactionPolicy, MicroWhen
from compaction.policy_reading import read_layers
from compaction.records import PassKind
from compaction.replay import Replay, ReplayPolicy, Step
from compaction.tokens import TokenCounter
from compaction.wording import worded
from sessions_app.models import PolicyTrial, Project, RunStatus, Session
from sessions_app.queries.project_figures import newest_sessions
from sessions_app.queries.replay_rows import fed_rows, rows_for_replay
from sessions_app.services.trials import begin_trial, finish_trial, is_trial_cancelled, move_trial
from sessions_app.session_policy import Scope, layer_of_site, model_of, overhead_of, window_of

# Longer sessions wait until the others are done; beyond the second bound one alone would take too much memory.
USUAL_ROWS: Final = 4_000
MOST_ROWS: Final = 40_000
MOST_SECONDS: Final = 120.0
# A wish to cancel is heard this often.
_STEPS_PER_LOOK: Final = 20


class TrialStopped(Exception):
    """Somebody asked the trial to stop, or asked for another one."""


class TimeIsUp(Exception):
    """What is under way would take more time than a trial has."""


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """What one session came to under one policy. Percent of the threshold; None while it is unknown. rebilled_tokens,
    freed_tokens: sums over the micro passes."""

    micro: int
    defrag: int
    batch: int
    prune: int
    peak_pct: float | None
    last_pct: float | None
    rebilled_tokens: int
    freed_tokens: int


def trial_fingerprint(project: Project, settings: Mapping[str, Any]) -> str:
    """Names everything a trial's result depends on: the settings, those in force, and the sessions as they are."""
    sessions = list(newest_sessions(project).values_list("pk", "last_seq", "policy_settings", "window_tokens"))
    told = [settings, project.policy_settings, layer_of_site()[1], project.window_tokens, project.main_model, sessions]
    text = json.dumps(told, sort_keys=True, default=str, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def run_trial(trial_id: int, counter: TokenCounter) -> RunStatus:
    """Run a trial that waits to its end. One that was cancelled meanwhile is left as it is."""
    trial = PolicyTrial.objects.select_related("project").get(pk=trial_id)
    sessions = list(newest_sessions(trial.project).select_related("project"))
    if not begin_trial(trial, len(sessions)):
        return RunStatus.CANCELLED
    try:
        result = _try_on(trial, sessions, counter)
    except TrialStopped:
        finish_trial(trial, RunStatus.CANCELLED)
        return RunStatus.CANCELLED
    except InvalidInput as error:
        finish_trial(trial, RunStatus.FAILED, error=error.said)
        return RunStatus.FAILED
    except Exception as error:
        finish_trial(
            trial, RunStatus.FAILED, error=worded("The trial ended with a fault of ours ({}).", type(error).__name__)
        )
        raise
    finish_trial(trial, RunStatus.DONE, result)
    return RunStatus.DONE


def _try_on(trial: PolicyTrial, sessions: list[Session], counter: TokenCounter) -> dict[str, Any]:
    ends_at = time.monotonic() + MOST_SECONDS
    rows = {session.pk: fed_rows(session.pk).order_by().count() for session in sessions}
    ready = [session for session in sessions if rows[session.pk] <= MOST_ROWS]
    tried: dict[int, dict[str, Any]] = {}
    for number, session in enumerate(sorted(ready, key=lambda one: rows[one.pk] > USUAL_ROWS), start=1):
        with suppress(TimeIsUp):
            tried[session.pk] = _session_json(_Trying(trial, ends_at), session, counter)
        move_trial(trial, number + len(sessions) - len(ready))
    policy = read_layers((layer_of_site(), (Scope.PROJECT.value, trial.settings))).policy
    waits_for_cold = policy.runs_micro and policy.micro_compact_when is MicroWhen.CACHE_COLD
    return {
        "sessions": [tried[session.pk] for session in sessions if session.pk in tried],
        "too_long": len(sessions) - len(ready),
        "too_long_rows": MOST_ROWS,
        "too_late": len(ready) - len(tried),
        "waits_for_cold": waits_for_cold,
    }


@dataclass(frozen=True, slots=True)
class _Trying:
    """A trial that is under way until `ends_at`, by the monotonic clock."""

    trial: PolicyTrial
    ends_at: float

    def look(self) -> None:
        """Raise TrialStopped or TimeIsUp when it must not go on."""
        if is_trial_cancelled(self.trial):
            raise TrialStopped
        if time.monotonic() > self.ends_at:
            raise TimeIsUp


def _session_json(trying: _Trying, session: Session, counter: TokenCounter) -> dict[str, Any]:
    trying.look()
    rows = rows_for_replay(session.pk, counter)
    now = policy_with(session, trying.trial.project.policy_settings)
    then = policy_with(session, trying.trial.settings)
    before = _figures(trying, session, now, rows, counter)
    after = before if then == now else _figures(trying, session, then, rows, counter)
    return {
        "public_id": session.public_id,
        "title": session.title,
        "turns": session.turns_total,
        "now": asdict(before),
        "then": asdict(after),
    }


def policy_with(session: Session, project_blocks: Mapping[str, Any]) -> CompactionPolicy:
    """The policy of a session whose project had these blocks."""
    layers = (layer_of_site(), (Scope.PROJECT.value, project_blocks), (Scope.SESSION.value, session.policy_settings))
    return read_layers(layers).policy


def replay_policy(policy: CompactionPolicy) -> ReplayPolicy:
    """What a session does under `policy` by itself."""
    if policy.runs_micro:
        return ReplayPolicy.MICRO_AND_BATCH
    return ReplayPolicy.BATCH if policy.runs_batch else ReplayPolicy.NONE


def _figures(
    trying: _Trying, session: Session, policy: CompactionPolicy, rows: tuple[Row, ...], counter: TokenCounter
) -> TrialFigures:
    context = make_context(
        policy,
        window_of(session),
        counter,
        fixed_overhead_tokens=overhead_of(session) or 0,
        main_model=model_of(session) or "",
    )
    replay = Replay(rows, replay_policy(policy), context, ExtractiveSummarizer(counter))
    made = [step for step in _heard(replay.steps(), trying) if step.record.is_committed]
    micro = [step.record for step in made if step.record.kind is PassKind.MICRO]
    result, threshold = replay.result(), context.threshold_tokens
    return TrialFigures(
        micro=len(micro),
        defrag=_count(made, PassKind.DEFRAG),
        batch=result.batch_passes,
        prune=_count(made, PassKind.PRUNE),
        peak_pct=None if not threshold else round(100 * result.peak_tokens / threshold, 1),
        last_pct=result.last_occupancy_pct,
        rebilled_tokens=sum(record.cache_break_tokens or 0 for record in micro),
        freed_tokens=-sum(record.tokens_delta for record in micro),
    )


def _heard(steps: Iterator[Step], trying: _Trying) -> Iterator[Step]:
    """The steps, until somebody asks to stop or the time is up."""
    for number, step in enumerate(steps):
        if number % _STEPS_PER_LOOK == 0:
            trying.look()
        yield step


def _count(steps: list[Step], kind: PassKind) -> int:
    return sum(step.record.kind is kind for step in steps)
