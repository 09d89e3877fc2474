"""Passes in an export of this program: the figures that only our own records have, and passes that changed no row.

Must not put events in order nor look at rows. Nothing is trusted: a figure of the wrong shape is unknown, and a pass
whose kind or outcome has no meaning here is told as a problem and left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from compaction.formats.events import PassFigures, PassTried, ProblemKind
from compaction.formats.times import epoch_seconds
from compaction.formats.told_once import Tell
from compaction.records import Outcome, PassKind
from compaction.wording import worded

Record = Mapping[str, object]
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_KINDS = {kind.value: kind for kind in PassKind}
# No occupancy that means anything is larger, and a float holds it.
_MOST_PCT = 1e9


def figures_of(recorded: Record) -> PassFigures:
    """What the export says of a pass beyond what other programs record."""
    return PassFigures(
        outcome=_OUTCOMES.get(text_of(recorded.get("outcome"))),
        reason=text_of(recorded.get("reason")),
        detail=text_of(recorded.get("detail")),
        notes=_notes(recorded.get("notes")),
        turn=whole(recorded.get("turn")),
        rows_before=whole(recorded.get("rows_before")),
        rows_after=whole(recorded.get("rows_after")),
        exchange_tokens=whole(recorded.get("exchange_tokens")),
        rolling_summary_tokens=whole(recorded.get("rolling_summary_tokens")),
        occupancy_pct=_share(recorded.get("occupancy_pct")),
        threshold_tokens=whole(recorded.get("threshold_tokens")),
        input_tokens=whole(recorded.get("input_tokens")),
        output_tokens=whole(recorded.get("output_tokens")),
        cache_break_tokens=whole(recorded.get("cache_break_tokens")),
        main_model=text_of(recorded.get("main_model")) or None,
    )


def tried_pass(recorded: Record, number: int, tell: Tell) -> PassTried | None:
    """A pass that changed no row; None, with a problem told, when it is of no known kind or outcome."""
    kind, figures = _KINDS.get(text_of(recorded.get("kind"))), figures_of(recorded)
    if kind is None or figures.outcome is None:
        tell.at(where=worded("pass {}", number)).note(
            ProblemKind.UNKNOWN_TYPE, worded("a pass of no known kind or outcome")
        )
        return None
    return PassTried(
        number=number,
        kind=kind,
        figures=figures,
        at=epoch_seconds(recorded.get("at")),
        trigger=text_of(recorded.get("trigger")) or None,
        tokens_before=whole(recorded.get("tokens_before")),
        tokens_after=whole(recorded.get("tokens_after")),
        duration_ms=whole(recorded.get("duration_ms")),
        model=text_of(recorded.get("aux_model")) or None,
    )


def whole(value: object) -> int | None:
    """`value` when it is an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def text_of(value: object) -> str:
    """`value` when it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def _share(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_PCT:
        return None
    return float(value) if isfinite(value) else None


def _notes(value: object) -> tuple[str, ...] | None:
    return tuple(note for note in value if isinstance(note, str)) if isinstance(value, list) else None
