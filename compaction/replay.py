"""Simulated replay: an imported session fed turn by turn through the engine, under any policy.

It drives the same `plan` and `settle` functions as production does, on rows held in memory, so what it predicts is
what would happen. The rows that are fed are never changed; each decision, "nothing" included, is one step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from compaction.batch import BatchPlan, no_need, plan_batch, settle_batch
from compaction.exchanges import resolve_cursor
from compaction.extractive import ExtractiveSummarizer
from compaction.live_rows import Applied, LiveRows
from compaction.messages import Message, Role, Row, RowKey, RowKind
from compaction.micro import MicroPlan, plan_micro, settle_micro
from compaction.model_view import model_view
from compaction.passes import Nothing, PassContext, Settlement
from compaction.prune import MIN_RESULT_CHARS, plan_prune
from compaction.records import Outcome, PassKind, PassRecord
from compaction.sliding_window import truncate
from compaction.state import CompactionState
from compaction.summarizer import Reply, Summarizer, SummaryRequest
from compaction.threshold import occupancy_pct
from compaction.turns import is_finished, split_turns


class ReplayPolicy(StrEnum):
    """The policies a replay can follow."""

    NONE = "none"
    MICRO = "micro"
    BATCH = "batch"
    MICRO_AND_BATCH = "micro+batch"
    PRUNE = "prune"
    WINDOW = "window"


_WITH_MICRO = frozenset({ReplayPolicy.MICRO, ReplayPolicy.MICRO_AND_BATCH})
_WITH_BATCH = frozenset({ReplayPolicy.BATCH, ReplayPolicy.MICRO_AND_BATCH})
# Under these a proactive prune runs if the settings switch it on; `prune` switches it on by itself.
_WITH_PRUNE = _WITH_MICRO | _WITH_BATCH | {ReplayPolicy.PRUNE}
# A replay has no clock. Cool-downs and pauses of batches are measured as if a turn took this long.
SECONDS_PER_TURN = 60.0


@dataclass(frozen=True, slots=True)
class Step:
    """One decision after one turn. Turns and steps count from 1; `cursor` is where the next exchange is looked for.

    applied: the rows that left the simulated context and the rows the step brought into it.
    """

    number: int
    turn: int
    record: PassRecord
    state: CompactionState
    cursor: RowKey | None
    applied: Applied


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a replay came to. Rows are those fed in; live summaries and stubs made by the replay are counted apart."""

    policy: ReplayPolicy
    turns: int
    rows: int
    live_rows: int
    archived_rows: int
    summary_rows: int
    stub_rows: int
    outcomes: tuple[tuple[str, int], ...]
    batch_passes: int
    summarizer_calls: int
    peak_tokens: int
    last_tokens: int
    last_occupancy_pct: float | None
    model_view: tuple[Message, ...]


class Replay:
    """A replay of `rows`, which must be in order and all be live at their birth.

    Iterate over `steps()` once; `result()` is complete after that. Under `prune`, unless the settings say from how many
    tokens on to prune, tool results of any length that is worth it are shortened when the threshold is reached.
    """

    def __init__(self, rows: Sequence[Row], policy: ReplayPolicy, context: PassContext, summarizer: Summarizer) -> None:
        self._policy = policy
        self._context = _switched_on(context, policy)
        self._summarizer = summarizer
        self._turns = tuple(split_turns(rows))
        self._fed_ids = frozenset(row.id for row in rows)
        self._live = LiveRows(max(self._fed_ids, default=-1) + 1)
        self._state = CompactionState()
        self._outcomes: Counter[str] = Counter()
        self._is_batch_blocked = self._is_prune_blocked = False
        self._steps = self._calls = self._peak_tokens = 0

    @property
    def turns(self) -> int:
        """Number of turns that will be fed."""
        return len(self._turns)

    def steps(self) -> Iterator[Step]:
        """Feed turn after turn and yield every decision as it is made.

        Prunes and batches are looked at before each request of the agent as well, because a turn can fill the window by
        itself. A batch that is held back is told once a turn.
        """
        for number, turn in enumerate(self._turns, start=1):
            self._is_batch_blocked = self._is_prune_blocked = False
            for row in turn:
                if row.role is Role.ASSISTANT:
                    yield from self._before_request(number)
                self._live.insert(row)
                self._peak_tokens = max(self._peak_tokens, self._tokens())
            yield self._step(number, self._decide(turn))
            yield from self._before_request(number)

    def _before_request(self, turn_number: int) -> Iterator[Step]:
        if self._is_batch_due():
            yield self._step(turn_number, self._batch(turn_number))
        pruned = self._prune()
        if pruned is not None:
            yield self._step(turn_number, pruned)

    def result(self) -> ReplayResult:
        """The sum of what has been replayed so far."""
        rows = tuple(self._live.forward())
        live_fed = sum(1 for row in rows if row.id in self._fed_ids)
        return ReplayResult(
            policy=self._policy,
            turns=len(self._turns),
            rows=len(self._fed_ids),
            live_rows=live_fed,
            archived_rows=len(self._fed_ids) - live_fed,
            summary_rows=sum(row.is_summary and row.id not in self._fed_ids for row in rows),
            stub_rows=sum(row.kind is RowKind.PRUNE_STUB and row.id not in self._fed_ids for row in rows),
            outcomes=tuple(sorted(self._outcomes.items())),
            batch_passes=self._outcomes[Outcome.COMPACTED] + self._outcomes[Outcome.FALLBACK],
            summarizer_calls=self._calls,
            peak_tokens=self._peak_tokens,
            last_tokens=self._tokens(),
            last_occupancy_pct=occupancy_pct(self._tokens(), self._context.threshold_tokens),
            model_view=model_view(rows).messages,
        )

    def _tokens(self) -> int:
        return self._context.fixed_overhead_tokens + self._live.live_tokens

    def _is_batch_due(self) -> bool:
        threshold = self._context.threshold_tokens
        if self._policy not in _WITH_BATCH or threshold is None or self._is_batch_blocked:
            return False
        return self._tokens() >= threshold

    def _decide(self, turn: tuple[Row, ...]) -> Settlement:
        """The decision after `turn`: a settled pass, or a record of nothing and its reason."""
        decided: Nothing | Settlement | MicroPlan
        if self._policy is ReplayPolicy.PRUNE:
            decided = plan_prune(self._live, self._state, self._context)
        elif self._policy in _WITH_MICRO:
            decided = plan_micro(self._live, self._state, self._context, turn_finished=is_finished(turn))
        elif self._policy is ReplayPolicy.WINDOW:
            decided = truncate(self._live, self._state, self._context)
        elif self._policy is ReplayPolicy.BATCH:
            decided = Nothing(no_need(self._context, self._tokens()) or "", self._state)
        else:
            decided = Nothing("policy_none", self._state)
        if isinstance(decided, MicroPlan):
            decided = settle_micro(decided, self._ask(decided.request))
        return decided if isinstance(decided, Settlement) else self._nothing(decided)

    def _prune(self) -> Settlement | None:
        """A prune between other decisions, if one is due; once it is not, it is not looked at again in this turn."""
        if self._policy not in _WITH_PRUNE or self._is_prune_blocked:
            return None
        decided = plan_prune(self._live, self._state, self._context)
        has_looked = not isinstance(decided, Settlement) and decided.zones is not None
        self._is_prune_blocked = has_looked
        return decided if isinstance(decided, Settlement) else None

    def _batch(self, turn_number: int) -> Settlement:
        decided = plan_batch(self._live, self._state, self._context, now=turn_number * SECONDS_PER_TURN)
        if isinstance(decided, BatchPlan):
            reply = self._ask(decided.question)
            last_resort = None
            if decided.is_critical and decided.request is not None:
                last_resort = ExtractiveSummarizer(self._context.counter).ask(decided.request)
            return settle_batch(decided, reply, last_resort)
        self._is_batch_blocked = isinstance(decided, Settlement)
        return decided if isinstance(decided, Settlement) else self._nothing(decided)

    def _ask(self, request: SummaryRequest | None) -> Reply | None:
        if request is None:
            return None
        self._calls += 1
        return self._summarizer.ask(request)

    def _nothing(self, nothing: Nothing) -> Settlement:
        record = self._context.blank_record(
            nothing.state, PassKind.NOTHING, Outcome.NOTHING, self._tokens(), self._live.live_rows
        )
        return Settlement(
            replace(record, reason=nothing.reason, zones=nothing.zones, cursor_before=None, cursor_after=None),
            nothing.state,
        )

    def _step(self, turn_number: int, settlement: Settlement) -> Step:
        self._state = settlement.state
        applied = self._live.apply(settlement.record.edit)
        self._outcomes[settlement.record.outcome] += 1
        self._steps += 1
        return Step(self._steps, turn_number, settlement.record, self._state, self._cursor(settlement), applied)

    def _cursor(self, settlement: Settlement) -> RowKey | None:
        zones = settlement.record.zones
        if zones is None:
            return self._state.cursor
        return resolve_cursor(self._live, self._state.cursor, zones.middle_start, zones.tail_start)


def _switched_on(context: PassContext, policy: ReplayPolicy) -> PassContext:
    """`context` with what the replay is about switched on, whatever the settings say."""
    settings = replace(context.policy, enabled=True, micro_compact=True)
    if policy is ReplayPolicy.PRUNE and not settings.proactive_prune_tokens and context.threshold_tokens is not None:
        trigger_tokens = max(1, context.threshold_tokens - context.fixed_overhead_tokens)
        settings = replace(
            settings, proactive_prune_tokens=trigger_tokens, proactive_prune_min_result_chars=MIN_RESULT_CHARS
        )
    return replace(context, policy=settings)
