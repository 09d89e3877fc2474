"""A simulated replay in the background: steps are stored as they are decided, progress shows, and it can be cancelled.

The run reads the session's rows once, as of the event at which it was asked for. Must not write: `services.replays`
does, and nothing but the run and its steps.
"""

from __future__ import annotations

import json
from typing import Any

from compaction.errors import InvalidInput
from compaction.live_rows import Applied
from compaction.messages import Row
from compaction.pass_context import make_context
from compaction.passes import PassContext
from compaction.policy import CompactionPolicy
from compaction.records import PassKind
from compaction.replay import Replay, ReplayPolicy, Step
from compaction.replay_output import result_json
from compaction.storable import storable_text
from compaction.summarizer import Summarizer
from compaction.telemetry import micro_figures
from compaction.tokens import TokenCounter, counter_named
from compaction.turns import split_turns
from compaction.wording import worded
from sessions_app.mapping import storable_json
from sessions_app.models import ReplayRun, ReplayStep, RunStatus
from sessions_app.pass_facts import fill_facts
from sessions_app.queries.replay_rows import rows_for_replay
from sessions_app.services.replays import begin_replay, finish_replay, store_steps
from sessions_app.session_policy import model_of, overhead_of, window_of
from sessions_app.windows import resolve_window

# Steps are stored, progress shown and a wish to cancel heard this often.
STEPS_PER_WRITE = 25


class ReplayCancelled(Exception):
    """Somebody asked the run to stop."""


def run_replay(run_id: int, summarizer: Summarizer) -> RunStatus:
    """Run a queued replay to its end; returns how it ended. One that was interrupted before begins anew.

    Raises ReplayRun.DoesNotExist, and what is no fault of the input, after noting it on the run.
    """
    run = ReplayRun.objects.select_related("session__project").get(pk=run_id)
    if run.status not in (RunStatus.QUEUED, RunStatus.RUNNING):
        return RunStatus(run.status)
    begin_replay(run)
    try:
        _replay(run, summarizer)
    except ReplayCancelled:
        finish_replay(run, RunStatus.CANCELLED)
    except InvalidInput as error:
        finish_replay(run, RunStatus.FAILED, error.said)
    except Exception as error:
        finish_replay(
            run, RunStatus.FAILED, worded("The replay ended with a fault of ours ({}).", type(error).__name__)
        )
        raise
    return RunStatus(run.status)


def _replay(run: ReplayRun, summarizer: Summarizer) -> None:
    counter = counter_named(run.token_counter)
    rows = rows_for_replay(run.session_id, counter, run.until_seq)
    replay = Replay(rows, ReplayPolicy(run.policy_name), _context(run, counter, summarizer), summarizer)
    run.progress_total = replay.turns
    ends = [turn[-1] for turn in split_turns(rows)]
    waiting: list[ReplayStep] = []
    for step in replay.steps():
        waiting.append(_stored(run, step, ends[step.turn - 1]))
        if len(waiting) >= STEPS_PER_WRITE:
            _store(run, waiting, step.turn)
            waiting = []
    _store(run, waiting, replay.turns)
    run.result = storable_json(json.loads(result_json(replay.result())))
    finish_replay(run, RunStatus.DONE)


def _store(run: ReplayRun, steps: list[ReplayStep], turns_done: int) -> None:
    if not store_steps(run, steps, turns_done):
        raise ReplayCancelled


def _context(run: ReplayRun, counter: TokenCounter, summarizer: Summarizer) -> PassContext:
    session = run.session
    window = window_of(session) if run.window_tokens is None else resolve_window(run.window_tokens, model_of(session))
    return make_context(
        CompactionPolicy.from_mapping(run.policy_settings).policy,
        window,
        counter,
        fixed_overhead_tokens=overhead_of(session) or 0,
        main_model=model_of(session) or "",
        aux_model=summarizer.model,
        aux_window_tokens=summarizer.window_tokens,
    )


def _stored(run: ReplayRun, step: Step, newest: Row) -> ReplayStep:
    stored = ReplayStep(run=run, number=step.number, turn=step.turn, at_position=newest.position)
    fill_facts(stored, step.record)
    stored.edit = _edit_json(step.applied)
    if step.record.kind is PassKind.NOTHING:
        # The summary is the one of the step before, word for word; a long session would store it a thousand times.
        stored.summary_before = stored.summary_after = None
    else:
        stored.telemetry = storable_json(micro_figures(step.record, run.session.public_id).to_mapping())
    if step.cursor is not None:
        stored.cursor_after_position, stored.cursor_after_id = step.cursor
    return stored


def _edit_json(applied: Applied) -> dict[str, Any]:
    """As the edit of a stored pass, but with the text of inserted rows: the simulation's rows are stored nowhere."""
    return {
        "archived": [row.id for row in applied.archived],
        "superseded": [row.id for row in applied.superseded],
        "inserted": [
            {
                "id": row.id,
                "kind": row.kind.value,
                "role": row.role.value,
                "position": row.position,
                "tokens": row.tokens,
                "replaces": None,
                "text": storable_text(row.message.text),
            }
            for row in applied.inserted
        ],
    }
