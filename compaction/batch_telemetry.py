"""The log line of an attempt to compact in a batch: full after a commit, shorter when nothing changed.

Three fixed sets of keys, one for each way an attempt can end, so that a reader can rely on them: committed lines carry
everything, aborted ones leave out what came of it, blocked ones (nothing was tried) only say why. Free of content, like
all telemetry.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compaction.messages import RowKind
from compaction.records import Outcome, PassRecord
from compaction.telemetry import LogLine, TelemetryValue, compact_json, contradictions, warnings

BATCH_PREFIX: Final = "context compression attempt telemetry: "
EVENT: Final = "compression_attempt"


class CommitStatus(StrEnum):
    """How an attempt ended."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    BLOCKED = "blocked"


class Trigger(StrEnum):
    """What started the attempt."""

    PREFLIGHT = "preflight"
    AUTO = "auto"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class BatchAttempt:
    """What a pass's record does not say about an attempt. Times are in milliseconds, None where not measured.

    id: names the attempt in other logs. token_count_method: how tokens were counted.
    """

    id: str
    trigger: Trigger
    token_count_method: str
    main_provider: str = ""
    aux_provider: str = ""
    aux_window_tokens: int | None = None
    commit_ms: int | None = None
    prompt_build_ms: int | None = None
    queue_wait_ms: int | None = None
    total_ms: int | None = None


_SPLIT_STATUS: Final = {
    CommitStatus.COMMITTED: "in_place_committed",
    CommitStatus.ABORTED: "aborted",
    CommitStatus.BLOCKED: "not_applicable",
}
# Named reasons of failed calls, by the class under which readers of these lines look for them.
_FAILURE_CLASSES: Final = {
    "auth": "summary_auth_failure",
    "http_401": "summary_auth_failure",
    "http_402": "summary_auth_failure",
    "http_403": "summary_auth_failure",
    "timeout": "summary_network_failure",
    "connection": "summary_network_failure",
    "length": "summary_truncated_failure",
    "empty": "summary_empty_content_failure",
    "thinking_only": "summary_empty_content_failure",
    "refusal": "summary_empty_content_failure",
    "http_503": "summary_overload_failure",
    "http_529": "summary_overload_failure",
}
# Reasons that are classes of their own: nothing was asked.
_OWN_CLASSES: Final = frozenset(
    {"insufficient_messages", "no_compressible_window", "empty_post_handoff_window", "feasibility_skip"}
)


def batch_lines(record: PassRecord, session_id: str, attempt: BatchAttempt) -> tuple[LogLine, ...]:
    """The line of a batch attempt, and warnings when its figures contradict each other."""
    line = BATCH_PREFIX + compact_json(batch_mapping(record, session_id, attempt))
    return (LogLine(line), *warnings(record, session_id))


def batch_mapping(record: PassRecord, session_id: str, attempt: BatchAttempt) -> dict[str, TelemetryValue]:
    """The fields of the line, for a store. Which keys there are depends on the commit status alone."""
    status = commit_status(record)
    fields = _what_and_why(record, session_id, attempt, status)
    if status is CommitStatus.BLOCKED:
        return fields
    fields |= _request(record, attempt)
    fields |= _times(record, attempt)
    return fields | _changes(record) if status is CommitStatus.COMMITTED else fields


def commit_status(record: PassRecord) -> CommitStatus:
    """Whether the attempt changed rows, was tried in vain, or was not tried."""
    if record.outcome is Outcome.BLOCKED:
        return CommitStatus.BLOCKED
    return CommitStatus.COMMITTED if record.is_committed else CommitStatus.ABORTED


def failure_class(record: PassRecord) -> str | None:
    """The class of what went wrong; None when nothing did."""
    if record.outcome is Outcome.BLOCKED:
        return f"blocked:{record.reason}"
    if record.outcome is Outcome.NO_GAIN:
        return "no_gain"
    if record.outcome is Outcome.COMPACTED or (record.is_committed and not record.reason):
        return None
    if record.reason in _OWN_CLASSES:
        return record.reason
    return _FAILURE_CLASSES.get(record.reason, "summary_generation_failed")


def _method(record: PassRecord) -> str:
    if not record.is_committed:
        return "none"
    return "deterministic_fallback" if record.outcome is Outcome.FALLBACK else "llm_summary"


def _what_and_why(
    record: PassRecord, session_id: str, attempt: BatchAttempt, status: CommitStatus
) -> dict[str, TelemetryValue]:
    return {
        "attempt_id": attempt.id,
        "commit_status": status.value,
        "current_estimated_tokens": record.tokens_before,
        "effective_threshold": record.threshold_tokens,
        "event": EVENT,
        "failure_class": failure_class(record),
        "fallback_used": record.outcome is Outcome.FALLBACK,
        "main_context_limit": record.context_limit_tokens,
        "main_model": record.main_model,
        "main_provider": attempt.main_provider,
        "method": _method(record),
        "overflow_reason": None,
        "route": "hermes",
        "session_id": session_id,
        "split_status": _SPLIT_STATUS[status],
        "total_duration_ms": attempt.total_ms,
        "trigger_source": attempt.trigger.value,
    }


def _request(record: PassRecord, attempt: BatchAttempt) -> dict[str, TelemetryValue]:
    request, zones, reply = record.request, record.zones, record.reply
    prompt_tokens = None if reply is None else reply.usage.input_tokens
    reserved = None if request is None else request.max_output_tokens
    window = attempt.aux_window_tokens
    has_fit = window is not None and prompt_tokens is not None
    return {
        "aux_model": record.aux_model,
        "aux_output_reservation": reserved,
        "aux_prompt_tokens": prompt_tokens,
        "aux_provider": attempt.aux_provider,
        "chunk_count": 0 if request is None else 1,
        "chunking": False,
        "effective_aux_context": window,
        "fit_margin": (window or 0) - (prompt_tokens or 0) - (reserved or 0) if has_fit else None,
        "has_focus_topic": bool(request is not None and request.focus),
        "messages_before": record.rows_before,
        "middle_window_tokens": None if zones is None else zones.middle_tokens,
        "prellm_skip_count": 0,
        "protected_head_tokens": None if zones is None else zones.head_tokens,
        "protected_tail_tokens": None if zones is None else zones.tail_tokens,
        "reasoning_items_pruned": 0,
        "summary_input_chars": None if request is None else len(request.user),
        "summary_input_elided_record_count": None,
        "summary_input_omitted_chars": None,
        "summary_input_record_count": None if request is None else len(request.messages),
        "summary_input_sampled_chars": None,
        "summary_input_sampled_record_count": None,
        "token_count_method": attempt.token_count_method,
        "tokens_before": record.tokens_before,
        "tool_results_pruned": sum(row.kind is RowKind.PRUNE_STUB for row in record.edit.inserted),
    }


def _times(record: PassRecord, attempt: BatchAttempt) -> dict[str, TelemetryValue]:
    return {
        "aux_call_duration_ms": record.duration_ms,
        "commit_ms": attempt.commit_ms,
        "prompt_build_ms": attempt.prompt_build_ms,
        "queue_wait_ms": attempt.queue_wait_ms,
        "summary_generation_ms": record.duration_ms,
        "time_to_first_progress_ms": None,
    }


def _changes(record: PassRecord) -> dict[str, TelemetryValue]:
    is_sound = not contradictions(record)
    return {
        "history_rewritten": True,
        "items_dropped": 0,
        "messages_after": record.rows_after if is_sound else None,
        "tokens_after": record.tokens_after if is_sound else None,
        "tokens_reclaimed": -record.tokens_delta if is_sound else None,
    }
