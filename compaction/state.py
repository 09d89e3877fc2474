"""Engine state of one session: what the next pass must know and the rows alone don't say.

It is a value that storage keeps beside the rows and hands back for each pass, so a restart continues where the last
process stopped and two sessions can never see each other's summary.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from compaction.errors import InvalidInput
from compaction.messages import RowKey


@dataclass(frozen=True, slots=True)
class CompactionState:
    """State between passes.

    cursor: place just past the last absorbed or skipped row; None before the first pass and after a batch.
    rolling_summary: the text inside the live micro summary row, without its frame.
    turns_since_pass: finished turns since the cadence last let a pass run.
    failing_exchange, exchange_failures: first row of the exchange that failed last, and how often in a row.
    defrag_hold_tokens: size of the rolling summary when a defrag last gained nothing; None when defrag may run.
    defrag_hold_passes: passes since then. defrag_failures: failed defrags in a row.
    defrag_requested: a cut-off reply asked for a defrag next.
    passes_total, tokens_saved_total: run over the whole session; failed passes count, saved tokens may be negative.
    batch_strikes: ineffective batches in a row. batch_failures: failed batch calls in a row.
    paused_until, cooldown_until: epoch seconds, None when free. paused_at_tokens: live tokens when the breaker opened.
    batch_committed_at: epoch seconds of the newest committed batches, oldest first.
    prune_rearm_tokens: live tokens from which on a proactive prune may run again; None when it may.
    last_error: reason of the last failure, empty after a success.
    """

    cursor: RowKey | None = None
    rolling_summary: str = ""
    rolling_summary_tokens: int = 0
    turns_since_pass: int = 0
    failing_exchange: RowKey | None = None
    exchange_failures: int = 0
    defrag_hold_tokens: int | None = None
    defrag_hold_passes: int = 0
    defrag_failures: int = 0
    defrag_requested: bool = False
    passes_total: int = 0
    tokens_saved_total: int = 0
    batch_strikes: int = 0
    batch_failures: int = 0
    paused_until: float | None = None
    paused_at_tokens: int | None = None
    cooldown_until: float | None = None
    batch_committed_at: tuple[float, ...] = ()
    prune_rearm_tokens: int | None = None
    last_error: str = ""

    def at_session_end(self) -> CompactionState:
        """What is left when the session ends: the totals (ENGINE 8.3). A reset session begins with a new state."""
        return CompactionState(passes_total=self.passes_total, tokens_saved_total=self.tokens_saved_total)

    def to_mapping(self) -> dict[str, Any]:
        """A JSON-ready mapping for storage; `from_mapping` reads it back to an equal state."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> CompactionState:
        """The state a store kept. Keys of newer versions are refused, missing ones take their defaults."""
        unknown = set(stored) - {field.name for field in fields(cls)}
        if unknown:
            raise InvalidInput(f"unknown keys {sorted(unknown)}", "stored compaction state")
        values = dict(stored)
        for name in ("cursor", "failing_exchange"):
            if values.get(name) is not None:
                values[name] = RowKey(*values[name])
        values["batch_committed_at"] = tuple(values.get("batch_committed_at", ()))
        return cls(**values)
