"""A micro pass on a stored session: plan, ask, settle, commit, tell.

Must hold no transaction while the summarizer is asked, and must not decide anything the engine decides. What happens in
memory is only published (log lines) after it is stored; a pass that can't be stored never happened.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from datetime import datetime

from compaction.micro import MicroPlan, Nothing, PassContext, Settlement, plan_micro, settle_micro
from compaction.pass_context import make_context
from compaction.summarizer import Reply, Summarizer, SummaryRequest
from compaction.telemetry import LOGGER_NAME, LogLevel, log_lines, micro_figures
from compaction.tokens import TokenCounter
from sessions_app import clock, services
from sessions_app.models import Session, Turn
from sessions_app.services import Circumstances, Committed, Stale
from sessions_app.session_policy import model_of, newest_revision, overhead_of, policy_of, window_of
from sessions_app.stored_transcript import StoredTranscript

compaction_log = logging.getLogger(LOGGER_NAME)
_LEVELS = {LogLevel.INFO: logging.INFO, LogLevel.WARNING: logging.WARNING}


@dataclass(frozen=True, slots=True)
class Passing:
    """With what a pass is made: who summarises, how tokens are counted, and after which turn (None: by hand)."""

    summarizer: Summarizer
    counter: TokenCounter
    turn: Turn | None = None

    @property
    def trigger(self) -> str:
        """Why the pass runs."""
        return "manual" if self.turn is None else "turn"


def run_micro_pass(session_id: int, passing: Passing) -> Nothing | Committed | Stale:
    """Make the micro pass that is due, if one is. Raises Session.DoesNotExist, and what the database raises.

    After a turn the turn's end is stored with the pass, in the same transaction, so that a repeated call for the same
    turn can't count or absorb twice.
    """
    session = Session.objects.select_related("project").get(pk=session_id)
    transcript = StoredTranscript(session)
    context = _context(session, passing)
    is_finished = passing.turn is None or (passing.turn.is_finished and not passing.turn.interrupted)
    plan = plan_micro(transcript, transcript.state, context, turn_finished=is_finished)
    if isinstance(plan, Nothing):
        return _end_without_pass(session, transcript, passing, plan)
    started_at = clock.now()
    settlement = settle_micro(plan, _ask(passing.summarizer, plan))
    return _commit(session, transcript, passing, settlement, started_at)


def _context(session: Session, passing: Passing) -> PassContext:
    policy = policy_of(session.project)
    return make_context(
        policy,
        window_of(session),
        passing.counter,
        fixed_overhead_tokens=overhead_of(session) or 0,
        main_model=model_of(session) or "",
        aux_model=passing.summarizer.model,
        aux_window_tokens=passing.summarizer.window_tokens,
    )


def _end_without_pass(
    session: Session, transcript: StoredTranscript, passing: Passing, plan: Nothing
) -> Nothing | Stale:
    turn_number = None if passing.turn is None else passing.turn.number
    if plan.state == transcript.state and turn_number is None:
        return plan
    return services.store_state(session.pk, plan.state, transcript.revision, turn_number) or plan


def _ask(summarizer: Summarizer, plan: MicroPlan) -> Reply | None:
    return None if plan.request is None else _timed(summarizer, plan.request)


def _timed(summarizer: Summarizer, request: SummaryRequest) -> Reply:
    """The reply, with the time that was waited for it unless the summarizer has measured it itself."""
    before = time.perf_counter()
    reply = summarizer.ask(request)
    if reply.duration_ms is not None:
        return reply
    return replace(reply, duration_ms=round((time.perf_counter() - before) * 1000))


def _commit(
    session: Session,
    transcript: StoredTranscript,
    passing: Passing,
    settlement: Settlement,
    started_at: datetime,
) -> Committed | Stale:
    record = settlement.record
    revision = newest_revision(session.project)
    done = services.archive_and_compact(
        session.pk,
        edit=record.edit,
        state=settlement.state,
        record=record,
        expected_revision=transcript.revision,
        circumstances=Circumstances(
            token_counter=passing.counter.name,
            trigger=passing.trigger,
            started_at=started_at,
            policy_revision_id=None if revision is None else revision.pk,
            threshold_source=session.threshold_source or None,
            turn=None if passing.turn is None else passing.turn.number,
            telemetry=micro_figures(record, session.public_id).to_mapping(),
        ),
    )
    if isinstance(done, Committed):
        for line in log_lines(record, session.public_id):
            compaction_log.log(_LEVELS[line.level], line.text)
    return done
