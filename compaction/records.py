"""What a pass leaves behind: the facts a page shows, a log line reports and a store keeps.

A record is written once, when the pass is settled, and never worked out again later: the replay page shows stored
facts. Unknown is None.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from compaction.edits import Edit
from compaction.messages import RowKey
from compaction.summarizer import Reply, SummaryRequest
from compaction.zones import Zones


class PassKind(StrEnum):
    """What a pass does. A turn at which nothing is done is recorded by replays as `nothing`."""

    MICRO = "micro"
    DEFRAG = "defrag"
    BATCH = "batch"
    PRUNE = "prune"
    NOTHING = "nothing"


class Outcome(StrEnum):
    """How a pass ended (ENGINE 7.3)."""

    ABSORBED = "absorbed"
    SUMMARIZE_FAILED = "summarize_failed"
    EXCHANGE_SKIPPED = "exchange_skipped"
    DEFRAG = "defrag"
    DEFRAG_FAILED = "defrag_failed"
    DEFRAG_NO_GAIN = "defrag_no_gain"
    STALE = "stale"
    NOTHING = "nothing"
    COMPACTED = "compacted"
    NO_GAIN = "no_gain"
    ABORTED = "aborted"
    FALLBACK = "fallback"
    BLOCKED = "blocked"
    PRUNED = "pruned"
    TRUNCATED = "truncated"

    @property
    def is_failure(self) -> bool:
        """Whether the pass was tried and changed no row because something went wrong."""
        return self in _FAILURES


_FAILURES = frozenset(
    {Outcome.SUMMARIZE_FAILED, Outcome.EXCHANGE_SKIPPED, Outcome.DEFRAG_FAILED, Outcome.STALE, Outcome.ABORTED}
)


@dataclass(frozen=True, slots=True)
class Span:
    """A run of rows an exchange covers: first and last key, how many rows, what they cost."""

    first: RowKey
    last: RowKey
    rows: int
    tokens: int


@dataclass(frozen=True, slots=True)
class PassRecord:
    """All facts of one settled pass.

    reason: a named reason for outcomes that need one, empty otherwise. notes: what else people should know.
    zones: as planned; None when unknown.
    tokens_* are of the model's context: fixed overhead and live rows. rows_* count live rows.
    summary_before/after: the rolling (or batch) summary without frame. redactions: masks put into the request.
    duration_ms: time waited for the summarizer; None when it was not asked.
    """

    kind: PassKind
    outcome: Outcome
    reason: str = ""
    detail: str = ""
    notes: tuple[str, ...] = ()
    zones: Zones | None = None
    exchanges: tuple[Span, ...] = ()
    cursor_before: RowKey | None = None
    cursor_after: RowKey | None = None
    request: SummaryRequest | None = None
    redactions: int = 0
    reply: Reply | None = None
    edit: Edit = Edit()
    summary_before: str = ""
    summary_after: str = ""
    rolling_summary_tokens: int = 0
    exchange_tokens: int | None = None
    tokens_before: int = 0
    tokens_after: int = 0
    rows_before: int = 0
    rows_after: int = 0
    fixed_overhead_tokens: int = 0
    threshold_tokens: int | None = None
    context_limit_tokens: int | None = None
    main_model: str = ""
    aux_model: str = ""
    duration_ms: int | None = None
    passes_total: int = 0
    tokens_saved_total: int = 0
    cache_break_tokens: int | None = None

    def with_edit(self, edit: Edit, removed_tokens: int, prefix_tokens: int) -> PassRecord:
        """This record with what `edit` does: figures after it, and the cache break behind the unchanged prefix.

        removed_tokens: cost of the rows that leave. An empty edit changes nothing.
        """
        if edit.is_empty:
            return self
        tokens_after = self.tokens_before - removed_tokens + sum(row.tokens for row in edit.inserted)
        return replace(
            self,
            edit=edit,
            tokens_after=tokens_after,
            rows_after=self.rows_before - len(edit.removed) + len(edit.inserted),
            cache_break_tokens=tokens_after - prefix_tokens,
        )

    @property
    def tokens_delta(self) -> int:
        """Change of the context's size: negative when it shrank."""
        return self.tokens_after - self.tokens_before

    @property
    def occupancy_pct(self) -> float | None:
        """Share of the threshold after the pass, one decimal; None while the threshold is unknown."""
        if not self.threshold_tokens:
            return None
        return round(self.tokens_after / self.threshold_tokens * 100, 1)

    @property
    def is_committed(self) -> bool:
        """Whether the pass changed rows."""
        return not self.edit.is_empty
