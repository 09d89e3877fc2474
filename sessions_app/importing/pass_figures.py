"""Figures that an export of this site tells of a pass, as columns of the stored pass.

Must not query or save. The figures are those of the record, never worked out again; one that fits no column is unknown.
"""

from __future__ import annotations

from compaction.formats.events import PassFigures
from compaction.storable import storable_text
from sessions_app.mapping import MAX_INT4, storable_count, storable_or_none
from sessions_app.models import CompactionPass

_REASON_CHARS = 200


def fill_figures(made: CompactionPass, figures: PassFigures) -> None:
    """Set on `made` all that `figures` know. What they don't know stays as it is."""
    if figures.outcome is not None:
        made.outcome = figures.outcome.value
    made.reason = storable_text(figures.reason)[:_REASON_CHARS]
    made.detail = storable_text(figures.detail)
    made.notes = None if figures.notes is None else [storable_text(note) for note in figures.notes]
    turn = storable_count(figures.turn, MAX_INT4)
    made.turn = made.turn if turn is None else turn
    rows_before = storable_count(figures.rows_before, MAX_INT4)
    made.rows_before = made.rows_before if rows_before is None else rows_before
    rows_after = storable_count(figures.rows_after, MAX_INT4)
    made.rows_after = made.rows_after if rows_after is None else rows_after
    made.exchange_tokens = storable_count(figures.exchange_tokens)
    made.rolling_summary_tokens = storable_count(figures.rolling_summary_tokens, MAX_INT4)
    made.occupancy_pct = figures.occupancy_pct
    made.threshold_tokens = storable_count(figures.threshold_tokens, MAX_INT4)
    made.input_tokens = storable_count(figures.input_tokens)
    made.output_tokens = storable_count(figures.output_tokens)
    made.cache_break_tokens = storable_count(figures.cache_break_tokens)
    made.main_model = storable_or_none(figures.main_model)
