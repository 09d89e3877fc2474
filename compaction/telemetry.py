"""Telemetry: the log lines of a pass, worked out from its record and free of any content.

One JSON line per pass that was tried, and short lines for people beside it. Lines are values; whoever commits a pass
writes them to the logger named here. Figures are checked against each other on the way out: those that contradict each
other are left unknown rather than told wrong, and a warning names the contradiction. Nothing here raises because of
what is in a record, and nothing is looked up: a window that was not known when the pass was made stays null.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from compaction.records import Outcome, PassKind, PassRecord

LOGGER_NAME: Final = "hermes.compaction"
MICRO_PREFIX: Final = "micro compaction telemetry: "
PRUNE_PREFIX: Final = "prune telemetry: "
_MOST_FAILURES: Final = 3

TelemetryValue = str | int | float | bool | None


class LogLevel(StrEnum):
    """How loud a line is."""

    INFO = "INFO"
    WARNING = "WARNING"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line for the log, without time and logger."""

    text: str
    level: LogLevel = LogLevel.INFO


@dataclass(frozen=True, slots=True)
class MicroFigures:
    """The fields of a micro pass's line, named as they are written. None is unknown.

    messages_*: live rows. tokens_delta: negative when the context shrank. cursor: position of the row at which the
    next exchange is looked for. cache_break: tokens that are sent without cache once. Totals run over the session.
    """

    outcome: str
    session_id: str
    aux_model: str = ""
    cache_break: int | None = None
    context_limit: int | None = None
    cursor: int | None = None
    duration_ms: int | None = None
    event: str = "micro_compaction"
    exchange_tokens: int | None = None
    main_model: str = ""
    messages_after: int | None = None
    messages_before: int | None = None
    occupancy_pct: float | None = None
    passes_total: int = 0
    rolling_summary_tokens: int = 0
    threshold_tokens: int | None = None
    tokens_after: int | None = None
    tokens_before: int | None = None
    tokens_delta: int | None = None
    tokens_saved_total: int = 0

    def to_mapping(self) -> dict[str, TelemetryValue]:
        """The fields for a store."""
        return asdict(self)

    @property
    def line(self) -> str:
        """The line as it is logged."""
        return MICRO_PREFIX + compact_json(self.to_mapping())


def compact_json(fields: dict[str, Any]) -> str:
    """The JSON of a telemetry line: keys in order, no blanks, ASCII only, so that any log reader can take it."""
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def micro_figures(record: PassRecord, session_id: str) -> MicroFigures:
    """The fields for a micro pass or a defrag. Figures that contradict each other are left unknown."""
    is_sound = not contradictions(record)
    return MicroFigures(
        outcome=str(record.outcome),
        session_id=session_id,
        aux_model=record.aux_model,
        cache_break=record.cache_break_tokens,
        context_limit=record.context_limit_tokens,
        cursor=None if record.cursor_after is None else record.cursor_after.position,
        duration_ms=record.duration_ms,
        exchange_tokens=record.exchange_tokens,
        main_model=record.main_model,
        messages_after=record.rows_after if is_sound else None,
        messages_before=record.rows_before,
        occupancy_pct=record.occupancy_pct if is_sound else None,
        passes_total=record.passes_total,
        rolling_summary_tokens=record.rolling_summary_tokens,
        threshold_tokens=record.threshold_tokens,
        tokens_after=record.tokens_after if is_sound else None,
        tokens_before=record.tokens_before,
        tokens_delta=record.tokens_delta if is_sound else None,
        tokens_saved_total=record.tokens_saved_total,
    )


def log_lines(record: PassRecord, session_id: str) -> tuple[LogLine, ...]:
    """All lines of a micro pass, a defrag or a prune: at most one of JSON, none for a turn with nothing to do."""
    if record.outcome is Outcome.NOTHING:
        return ()
    is_prune = record.kind is PassKind.PRUNE
    line = _prune_line(record, session_id) if is_prune else micro_figures(record, session_id).line
    people = () if is_prune else _human_lines(record)
    return (LogLine(line), *people, *warnings(record, session_id))


def warnings(record: PassRecord, session_id: str) -> tuple[LogLine, ...]:
    """A line for each contradiction in the record's figures."""
    found = contradictions(record)
    return tuple(LogLine(f"Telemetry of session {session_id}: {what}", LogLevel.WARNING) for what in found)


def contradictions(record: PassRecord) -> tuple[str, ...]:
    """Which sums in the record do not come out, in words. Empty for a sound record."""
    checks = (*_zone_sums(record), *_change_sums(record))
    return tuple(f"{what}: {left:,} is not {right:,}" for what, left, right in checks if left != right)


def _zone_sums(record: PassRecord) -> tuple[tuple[str, int, int], ...]:
    zones = record.zones
    if zones is None:
        return ()
    tokens = record.fixed_overhead_tokens + zones.head_tokens + zones.middle_tokens + zones.tail_tokens
    rows = zones.head_rows + zones.middle_rows + zones.tail_rows
    return (
        ("overhead, head, middle and tail against tokens before", tokens, record.tokens_before),
        ("rows of head, middle and tail against rows before", rows, record.rows_before),
    )


def _change_sums(record: PassRecord) -> tuple[tuple[str, int, int], ...]:
    rows = record.rows_before - len(record.edit.removed) + len(record.edit.inserted)
    sums = [("rows before, less those removed, with those inserted, against rows after", rows, record.rows_after)]
    if not record.is_committed:
        sums.append(("tokens before against after, with no row changed", record.tokens_before, record.tokens_after))
    if record.exchange_tokens is not None and record.exchanges:
        spans = sum(span.tokens for span in record.exchanges)
        sums.append(("exchanges against their sum", spans, record.exchange_tokens))
    return tuple(sums)


def prune_mapping(record: PassRecord, session_id: str) -> dict[str, TelemetryValue]:
    """The fields of a prune's line, for a store."""
    return {
        "event": "prune",
        "messages_after": record.rows_after,
        "messages_before": record.rows_before,
        "occupancy_pct": record.occupancy_pct,
        "outcome": str(record.outcome),
        "results_pruned": len(record.edit.inserted),
        "session_id": session_id,
        "threshold_tokens": record.threshold_tokens,
        "tokens_after": record.tokens_after,
        "tokens_before": record.tokens_before,
        "tokens_delta": record.tokens_delta,
    }


def _prune_line(record: PassRecord, session_id: str) -> str:
    return PRUNE_PREFIX + compact_json(prune_mapping(record, session_id))


def _human_lines(record: PassRecord) -> tuple[LogLine, ...]:
    text = _human_text(record)
    failed = _failure_text(record)
    return tuple(LogLine(line) for line in (failed, text) if line)


def _failure_text(record: PassRecord) -> str:
    """That a call failed and why. The reason is a name; what the other side wrote is not repeated."""
    return f"micro-summarization call failed: {record.reason}" if record.outcome.is_failure and record.reason else ""


def _human_text(record: PassRecord) -> str:
    match record.outcome:
        case Outcome.ABSORBED if record.rows_before != record.rows_after:
            return f"Micro-compaction: {record.rows_before} -> {record.rows_after} messages"
        case Outcome.DEFRAG:
            return f"Micro-compaction defrag: rolling summary re-summarized ({len(record.summary_after)} chars)"
        case Outcome.EXCHANGE_SKIPPED:
            why = f"after {_MOST_FAILURES} consecutive failures" if record.reply is not None else f"({record.reason})"
            return f"Micro-compaction: skipping exchange at cursor {_cursor_before(record)} {why}"
        case _:
            return ""


def _cursor_before(record: PassRecord) -> str:
    return "unknown" if record.cursor_before is None else str(record.cursor_before.position)
