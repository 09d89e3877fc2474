"""Before a request to the main model: wait for the passes after the last turn, and make those that are due now.

A request waits for a bounded time and then goes out with the rows as they are, which the ledger says. Due before a
request are a batch, when the context is at its threshold, and a micro pass under a policy that waits for a cold cache:
only now is it known that the cache has expired. Best effort: a pass that fails is shown on the session and the request
goes out.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils import timezone
from procrastinate.contrib.django.models import ProcrastinateWorker

from compaction.policy import CompactionPolicy, MicroWhen
from compaction.wording import worded
from sessions_app.main_model.releasing import release_connection
from sessions_app.models import Session, SessionStatus, TurnStep
from sessions_app.passes.cache_age import is_cache_cold
from sessions_app.passes.failing import tell_failed_pass
from sessions_app.passes.passing import Passing
from sessions_app.passes.retrying import run_pass_patiently
from sessions_app.queries.waiting import waiting_turns
from sessions_app.session_policy import overhead_of, policy_of
from sessions_app.summarizers import summarizer_for_policy
from sessions_app.token_counting import site_counter

# A worker says every ten seconds that it lives.
_SILENT_WORKER: Final = timedelta(seconds=30)
_FIRST_LOOK_SECONDS: Final = 0.05
_LONGEST_LOOK_SECONDS: Final = 0.5

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Waited:
    """How long a request waited for passes, and whether it went ahead of one that was still to come."""

    waited_ms: int
    went_ahead: bool


def ready_session(session_id: int) -> Waited:
    """Let the passes of a session come first that should. Raises Session.DoesNotExist."""
    started = time.monotonic()
    policy = policy_of(_session(session_id))
    went_ahead = not _wait_for_passes(session_id, policy)
    session = _session(session_id)
    if _may_compact(session):
        for step in _due_steps(session, policy):
            _make_pass(session_id, step, policy)
    return Waited(round((time.monotonic() - started) * 1_000), went_ahead)


def _session(session_id: int) -> Session:
    return Session.objects.select_related("project").get(pk=session_id)


def _wait_for_passes(session_id: int, policy: CompactionPolicy) -> bool:
    """Wait until no turn's end is under way; False when the time for that was up.

    Nobody waits for passes that can't change anything, or for a worker that is not there.
    """
    if not waiting_turns(session_id):
        return True
    if not (policy.runs_micro or policy.runs_batch or policy.runs_prune):
        return True
    deadline = time.monotonic() + policy.finalize_wait_seconds
    look_seconds = _FIRST_LOOK_SECONDS
    while (left := deadline - time.monotonic()) > 0 and _has_worker():
        release_connection()
        time.sleep(min(look_seconds, left))
        look_seconds = min(look_seconds * 1.5, _LONGEST_LOOK_SECONDS)
        if not waiting_turns(session_id):
            return True
    return False


def _has_worker() -> bool:
    return ProcrastinateWorker.objects.filter(last_heartbeat__gt=timezone.now() - _SILENT_WORKER).exists()


def _may_compact(session: Session) -> bool:
    """Whether automatic passes may run: held ones wait for the end of a turn, which lifts a hold that has run out."""
    return not session.is_held and session.status != SessionStatus.ENDED


def _due_steps(session: Session, policy: CompactionPolicy) -> list[TurnStep]:
    steps = []
    waits_for_cold = policy.runs_micro and policy.micro_compact_when is MicroWhen.CACHE_COLD
    if waits_for_cold and is_cache_cold(session):
        steps.append(TurnStep.MICRO)
    if policy.runs_batch and _is_over_threshold(session):
        steps.append(TurnStep.BATCH)
    return steps


def _is_over_threshold(session: Session) -> bool:
    tokens = session.live_tokens + (overhead_of(session) or 0)
    return session.threshold_tokens is not None and tokens >= session.threshold_tokens


def _make_pass(session_id: int, step: TurnStep, policy: CompactionPolicy) -> None:
    counter = site_counter()
    project_id = Session.objects.values_list("project_id", flat=True).get(pk=session_id)
    passing = Passing(summarizer_for_policy(policy, counter, project_id), counter, is_before_request=True)
    try:
        run_pass_patiently(session_id, step, passing)
    except Session.DoesNotExist:
        raise
    except Exception as error:
        tell_failed_pass(session_id, step, worded("before a request"), error)
