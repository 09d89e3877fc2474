"""Simulated replay: an imported session fed turn by turn through the engine, under any policy.

It drives the same `plan` and `settle` functions as production does, on rows held in memory, so what it predicts is
what would happen. The rows that are fed are never changed; each decision, "nothing" included, is one step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from compaction.errors import InvalidInput
from compaction.exchanges import resolve_cursor
from compaction.live_rows import Applied, LiveRows
from compaction.messages import Message, Row, RowKey
from compaction.micro import MicroPlan, Nothing, PassContext, Settlement, plan_micro, settle_micro
from compaction.model_view import model_view
from compaction.records import Outcome, PassKind, PassRecord
from compaction.sliding_window import truncate
from compaction.state import CompactionState
from compaction.summarizer import Reply, Summarizer
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


RUNNABLE_POLICIES = frozenset({ReplayPolicy.NONE, ReplayPolicy.MICRO, ReplayPolicy.WINDOW})


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
    """What a replay came to. Rows are those fed in; summaries made by the replay are counted apart."""

    policy: ReplayPolicy
    turns: int
    rows: int
    live_rows: int
    archived_rows: int
    summary_rows: int
    outcomes: tuple[tuple[str, int], ...]
    batch_passes: int
    summarizer_calls: int
    peak_tokens: int
    last_tokens: int
    last_occupancy_pct: float | None
    model_view: tuple[Message, ...]


class Replay:
    """A replay of `rows`, which must be in order and all be live at their birth.

    Iterate over `steps()` once; `result()` is complete after that. Raises InvalidInput for a policy that can't be
    replayed yet.
    """

    def __init__(self, rows: Sequence[Row], policy: ReplayPolicy, context: PassContext, summarizer: Summarizer) -> None:
        if policy not in RUNNABLE_POLICIES:
            raise InvalidInput(f"{policy} can't be replayed yet", "policy")
        self._policy = policy
        self._context = replace(context, policy=replace(context.policy, enabled=True, micro_compact=True))
        self._summarizer = summarizer
        self._turns = tuple(split_turns(rows))
        self._fed_ids = frozenset(row.id for row in rows)
        self._live = LiveRows(max(self._fed_ids, default=-1) + 1)
        self._state = CompactionState()
        self._outcomes: Counter[str] = Counter()
        self._steps = self._calls = self._peak_tokens = 0

    @property
    def turns(self) -> int:
        """Number of turns that will be fed."""
        return len(self._turns)

    def steps(self) -> Iterator[Step]:
        """Feed turn after turn and yield every decision as it is made."""
        for number, turn in enumerate(self._turns, start=1):
            for row in turn:
                self._live.insert(row)
            self._peak_tokens = max(self._peak_tokens, self._tokens())
            yield self._step(number, self._decide(turn))

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
            summary_rows=len(rows) - live_fed,
            outcomes=tuple(sorted(self._outcomes.items())),
            batch_passes=self._outcomes[Outcome.COMPACTED],
            summarizer_calls=self._calls,
            peak_tokens=self._peak_tokens,
            last_tokens=self._tokens(),
            last_occupancy_pct=occupancy_pct(self._tokens(), self._context.threshold_tokens),
            model_view=model_view(rows).messages,
        )

    def _tokens(self) -> int:
        return self._context.fixed_overhead_tokens + self._live.live_tokens

    def _decide(self, turn: tuple[Row, ...]) -> Settlement:
        """The decision after `turn`: a settled pass, or a record of nothing and its reason."""
        decided: Nothing | Settlement | MicroPlan
        if self._policy is ReplayPolicy.MICRO:
            decided = plan_micro(self._live, self._state, self._context, turn_finished=is_finished(turn))
        elif self._policy is ReplayPolicy.WINDOW:
            decided = truncate(self._live, self._state, self._context)
        else:
            decided = Nothing("policy_none", self._state)
        if isinstance(decided, MicroPlan):
            decided = settle_micro(decided, self._ask(decided))
        return decided if isinstance(decided, Settlement) else self._nothing(decided)

    def _ask(self, plan: MicroPlan) -> Reply | None:
        if plan.request is None:
            return None
        self._calls += 1
        return self._summarizer.ask(plan.request)

    def _nothing(self, nothing: Nothing) -> Settlement:
        tokens, rows = self._tokens(), self._live.live_rows
        record = PassRecord(
            kind=PassKind.NOTHING,
            outcome=Outcome.NOTHING,
            reason=nothing.reason,
            zones=nothing.zones,
            summary_before=nothing.state.rolling_summary,
            summary_after=nothing.state.rolling_summary,
            rolling_summary_tokens=nothing.state.rolling_summary_tokens,
            tokens_before=tokens,
            tokens_after=tokens,
            rows_before=rows,
            rows_after=rows,
            fixed_overhead_tokens=self._context.fixed_overhead_tokens,
            threshold_tokens=self._context.threshold_tokens,
            context_limit_tokens=self._context.context_limit_tokens,
            main_model=self._context.main_model,
            aux_model=self._context.aux_model,
            passes_total=nothing.state.passes_total,
            tokens_saved_total=nothing.state.tokens_saved_total,
        )
        return Settlement(record, nothing.state)

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
