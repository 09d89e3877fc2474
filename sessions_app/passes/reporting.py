"""What is told of a pass: the content-free figures that are stored with it, and the lines for the log.

The lines are written after the commit and say how long it took; the stored figures are part of it and can't.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

from compaction.batch_telemetry import BatchAttempt, Trigger, batch_lines, batch_mapping
from compaction.records import PassKind, PassRecord
from compaction.telemetry import (
    LOGGER_NAME,
    LogLevel,
    LogLine,
    TelemetryValue,
    log_lines,
    micro_figures,
    prune_mapping,
)
from sessions_app.passes.passing import Passing
from sessions_app.summarizers import asked_place

compaction_log = logging.getLogger(LOGGER_NAME)
_LEVELS = {LogLevel.INFO: logging.INFO, LogLevel.WARNING: logging.WARNING}


@dataclass(frozen=True, slots=True)
class Report:
    """One pass of the session that logs call `session_id`. decided_ms: from its start to its settlement."""

    record: PassRecord
    session_id: str
    attempt: BatchAttempt

    def to_mapping(self) -> Mapping[str, TelemetryValue]:
        """The figures for the store."""
        match self.record.kind:
            case PassKind.BATCH:
                return batch_mapping(self.record, self.session_id, self.attempt)
            case PassKind.PRUNE:
                return prune_mapping(self.record, self.session_id)
            case _:
                return micro_figures(self.record, self.session_id).to_mapping()

    def log(self, commit_ms: int) -> None:
        """Write the lines; `commit_ms` is what storing the pass took."""
        for line in self._lines(commit_ms):
            compaction_log.log(_LEVELS[line.level], line.text)

    def _lines(self, commit_ms: int) -> tuple[LogLine, ...]:
        if self.record.kind is not PassKind.BATCH:
            return log_lines(self.record, self.session_id)
        total_ms = None if self.attempt.total_ms is None else self.attempt.total_ms + commit_ms
        return batch_lines(self.record, self.session_id, replace(self.attempt, commit_ms=commit_ms, total_ms=total_ms))


def report_of(record: PassRecord, session_id: str, passing: Passing, decided_ms: int) -> Report:
    """The report of a settled pass. decided_ms: from its start to its settlement."""
    attempt = BatchAttempt(
        id=secrets.token_hex(8),
        trigger=Trigger.MANUAL if passing.is_manual else Trigger.AUTO,
        token_count_method=passing.counter.name,
        aux_provider=asked_place(passing.summarizer).provider,
        aux_window_tokens=passing.summarizer.window_tokens,
        prompt_build_ms=max(0, decided_ms - (record.duration_ms or 0)),
        total_ms=decided_ms,
    )
    return Report(record, session_id, attempt)
