"""What every kind of pass has in common: the context it is made under, that there is none, and how it ends.

Micro passes, batches, prunes and the sliding window plan and settle in their own modules; a record is begun and a pass
is counted here, so that all of them tell the same facts in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from compaction.budgets import TailBudget
from compaction.policy import CompactionPolicy
from compaction.records import Outcome, PassKind, PassRecord
from compaction.state import CompactionState
from compaction.tokens import TokenCounter
from compaction.transcript import Transcript
from compaction.zones import Zones, find_zones


@dataclass(frozen=True, slots=True)
class PassContext:
    """What a pass is made under. It is fixed when the pass starts, whatever is saved meanwhile.

    threshold_tokens: None while the window is unknown; the tail then has its usual size and occupancy is unknown.
    is_cache_cold: whether the provider's prompt cache has expired since the last request; None when that can't be
    known.
    """

    policy: CompactionPolicy
    counter: TokenCounter
    threshold_tokens: int | None
    head_limit_tokens: int
    tail: TailBudget
    context_limit_tokens: int | None = None
    fixed_overhead_tokens: int = 0
    aux_window_tokens: int | None = None
    main_model: str = ""
    aux_model: str = ""
    is_cache_cold: bool | None = None

    def zones_of(self, transcript: Transcript) -> Zones:
        """The zones of `transcript` under this context."""
        policy = self.policy
        return find_zones(
            transcript, policy.protect_first_n, policy.min_tail_user_messages, self.head_limit_tokens, self.tail
        )

    def blank_record(
        self, state: CompactionState, kind: PassKind, outcome: Outcome, tokens: int, rows: int
    ) -> PassRecord:
        """The record of a pass that has changed nothing yet: `tokens` and `rows` both before and after."""
        return PassRecord(
            kind=kind,
            outcome=outcome,
            cursor_before=state.cursor,
            cursor_after=state.cursor,
            summary_before=state.rolling_summary,
            summary_after=state.rolling_summary,
            rolling_summary_tokens=state.rolling_summary_tokens,
            tokens_before=tokens,
            tokens_after=tokens,
            rows_before=rows,
            rows_after=rows,
            fixed_overhead_tokens=self.fixed_overhead_tokens,
            threshold_tokens=self.threshold_tokens,
            context_limit_tokens=self.context_limit_tokens,
            main_model=self.main_model,
            aux_model=self.aux_model,
            passes_total=state.passes_total,
            tokens_saved_total=state.tokens_saved_total,
        )


@dataclass(frozen=True, slots=True)
class Nothing:
    """No pass now. `state` may still have changed: the cadence counts turns."""

    reason: str
    state: CompactionState
    zones: Zones | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """The end of a pass: its record (with the edit to commit) and the state to store with it."""

    record: PassRecord
    state: CompactionState


def settled(record: PassRecord, state: CompactionState) -> Settlement:
    """The end of a pass that counts: totals run on in the state, and the record tells them."""
    passes, saved = state.passes_total + 1, state.tokens_saved_total + record.tokens_before - record.tokens_after
    return Settlement(
        replace(record, passes_total=passes, tokens_saved_total=saved),
        replace(state, passes_total=passes, tokens_saved_total=saved),
    )
