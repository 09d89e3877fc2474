"""The engine's record of a pass to the stored facts: one translation for passes and for steps of a replay.

Must not query. What the record leaves unknown stays null; an empty name is unknown too.
"""

from __future__ import annotations

from typing import Any

from compaction.messages import RowKey
from compaction.records import PassRecord, Span
from compaction.storable import storable_text
from compaction.zones import Zones
from sessions_app.mapping import key_json, storable_or_none
from sessions_app.models import PassFacts


def fill_facts(facts: PassFacts, record: PassRecord) -> None:
    """Set on `facts` all that `record` knows. Edit, times and telemetry are the caller's."""
    facts.kind = record.kind.value
    facts.outcome = record.outcome.value
    facts.reason = storable_text(record.reason)
    facts.detail = storable_text(record.detail)
    facts.notes = [storable_text(note) for note in record.notes]
    facts.zones = None if record.zones is None else zones_json(record.zones)
    facts.exchanges = [_span_json(span) for span in record.exchanges]
    facts.cursor_before_position, facts.cursor_before_id = _key_columns(record.cursor_before)
    facts.cursor_after_position, facts.cursor_after_id = _key_columns(record.cursor_after)
    facts.summary_before = storable_text(record.summary_before)
    facts.summary_after = storable_text(record.summary_after)
    facts.duration_ms = record.duration_ms
    facts.main_model = storable_text(record.main_model) or None
    facts.aux_model = storable_text(record.aux_model) or None
    _fill_call(facts, record)
    _fill_figures(facts, record)


def _fill_call(facts: PassFacts, record: PassRecord) -> None:
    """What was sent to the summarizer and what came back; null where it was not asked."""
    if record.request is not None:
        facts.prompt_system = storable_text(record.request.system)
        facts.prompt_user = storable_text(record.request.user)
        facts.redactions = record.redactions
    if record.reply is not None:
        facts.reply_text = storable_or_none(record.reply.text)
        facts.reply_error = storable_text(record.reply.error)
        facts.finish_reason = storable_or_none(record.reply.finish_reason)
        facts.input_tokens = record.reply.usage.input_tokens
        facts.output_tokens = record.reply.usage.output_tokens
        facts.cache_read_tokens = record.reply.usage.cached_tokens


def _fill_figures(facts: PassFacts, record: PassRecord) -> None:
    facts.tokens_before = record.tokens_before
    facts.tokens_after = record.tokens_after
    facts.rows_before = record.rows_before
    facts.rows_after = record.rows_after
    facts.fixed_overhead_tokens = record.fixed_overhead_tokens
    facts.exchange_tokens = record.exchange_tokens
    facts.rolling_summary_tokens = record.rolling_summary_tokens
    facts.threshold_tokens = record.threshold_tokens
    facts.context_limit_tokens = record.context_limit_tokens
    facts.occupancy_pct = record.occupancy_pct
    facts.cache_break_tokens = record.cache_break_tokens


def _key_columns(key: RowKey | None) -> tuple[int | None, int | None]:
    return (None, None) if key is None else (key.position, key.id)


def _span_json(span: Span) -> dict[str, Any]:
    return {"first": key_json(span.first), "last": key_json(span.last), "rows": span.rows, "tokens": span.tokens}


def zones_json(zones: Zones) -> dict[str, Any]:
    """Zones as they are stored: keys as [position, id], sizes in rows and tokens."""
    return {
        "head_end": key_json(zones.head_end),
        "head_rows": zones.head_rows,
        "head_tokens": zones.head_tokens,
        "middle_rows": zones.middle_rows,
        "middle_tokens": zones.middle_tokens,
        "tail_start": key_json(zones.tail_start),
        "tail_rows": zones.tail_rows,
        "tail_tokens": zones.tail_tokens,
        "tail_budget_tokens": zones.budget.budget_tokens,
        "tail_ceiling_tokens": zones.budget.ceiling_tokens,
        "is_tail_cut": zones.is_tail_cut,
    }
