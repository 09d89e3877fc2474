"""One pass over a stored session, of whatever kind: decided without a transaction, committed in one, then told.

After a turn, the step of the turn's end is stored in the same transaction, so that a job that runs again after a crash
goes on behind it and can't count or absorb twice.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from compaction.pass_context import make_context
from compaction.passes import Nothing, PassContext, Settlement
from compaction.policy import MicroWhen
from sessions_app import clock, services
from sessions_app.mapping import state_of
from sessions_app.models import CompactionPass, Session, TurnStep
from sessions_app.passes.asking import Asking
from sessions_app.passes.cache_age import is_cache_cold
from sessions_app.passes.deciding import DECIDERS
from sessions_app.passes.passing import Passing
from sessions_app.passes.reporting import report_of
from sessions_app.queries.planning import planning_base
from sessions_app.services import Circumstances, Committed, Stale
from sessions_app.session_policy import model_of, overhead_of, policy_of, window_of
from sessions_app.stored_transcript import StoredTranscript

# Why there is no pass when a request comes a second time.
ALREADY_MADE: Final = "already_made"


@dataclass(frozen=True, slots=True)
class _Run:
    """A pass on its way: what it was planned on, under which settings, and since when."""

    session: Session
    policy_revision_id: int | None
    session_policy_revision_id: int | None
    transcript: StoredTranscript
    step: TurnStep
    passing: Passing
    asking: Asking
    started_at: datetime
    started_seconds: float

    @property
    def elapsed_ms(self) -> int:
        return round((time.perf_counter() - self.started_seconds) * 1000)


def run_pass(session_id: int, step: TurnStep, passing: Passing) -> Nothing | Committed | Stale:
    """Make the pass of this step that is due, if one is. Raises Session.DoesNotExist, and what the database raises.

    Calls that were made are entered in the ledger even when the pass can't be stored.
    """
    base = planning_base(session_id)
    session = base.session
    if _is_made(session, passing.request_id):
        return Nothing(ALREADY_MADE, state_of(session.state))
    run = _Run(
        session=session,
        policy_revision_id=base.policy_revision_id,
        session_policy_revision_id=base.session_policy_revision_id,
        transcript=StoredTranscript(session),
        step=step,
        passing=passing,
        asking=Asking(passing.summarizer),
        started_at=clock.now(),
        started_seconds=time.perf_counter(),
    )
    try:
        decided = DECIDERS[step](run.transcript, _context(session, passing), passing, run.asking)
        return _end_without_pass(run, decided) if isinstance(decided, Nothing) else _commit(run, decided)
    except Session.DoesNotExist:
        # Deleted meanwhile, and its ledger with it.
        raise
    except Exception:
        if run.asking.calls:
            services.record_calls(session_id, run.asking.calls)
        raise


def _is_made(session: Session, request_id: str | None) -> bool:
    """Whether the pass that was asked for under this id is stored already."""
    if request_id is None:
        return False
    return CompactionPass.objects.filter(session_id=session.pk, foreign_id=request_id).exists()


def _context(session: Session, passing: Passing) -> PassContext:
    policy = policy_of(session)
    return make_context(
        policy,
        window_of(session),
        passing.counter,
        fixed_overhead_tokens=overhead_of(session) or 0,
        main_model=model_of(session) or "",
        aux_model=passing.summarizer.model,
        aux_window_tokens=passing.summarizer.window_tokens,
        # Only one setting asks for it, and it costs a query.
        is_cache_cold=is_cache_cold(session) if policy.micro_compact_when is MicroWhen.CACHE_COLD else None,
    )


def _end_without_pass(run: _Run, plan: Nothing) -> Nothing | Stale:
    """A turn without a pass may still have been counted."""
    turn = run.passing.turn
    if turn is None or plan.state == run.transcript.state:
        return plan
    revision = run.transcript.revision
    return services.store_state(run.session.pk, plan.state, revision, turn.number, run.step) or plan


def _commit(run: _Run, settlement: Settlement) -> Committed | Stale:
    session, passing, record = run.session, run.passing, settlement.record
    report = report_of(record, session.public_id, passing, run.elapsed_ms)
    decided_ms = run.elapsed_ms
    done = services.archive_and_compact(
        session.pk,
        edit=record.edit,
        state=settlement.state,
        record=record,
        expected_revision=run.transcript.revision,
        circumstances=Circumstances(
            token_counter=passing.counter.name,
            trigger=passing.trigger(run.step),
            started_at=run.started_at,
            policy_revision_id=run.policy_revision_id,
            session_policy_revision_id=run.session_policy_revision_id,
            threshold_source=session.threshold_source or None,
            turn=None if passing.turn is None else passing.turn.number,
            step=run.step,
            telemetry=report.to_mapping(),
            calls=run.asking.calls,
            request_id=passing.request_id,
        ),
    )
    if isinstance(done, Committed):
        report.log(run.elapsed_ms - decided_ms)
    return done
