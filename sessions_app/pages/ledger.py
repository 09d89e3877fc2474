"""The ledger of passes: every pass with its facts, a page at a time, and the sums over all of them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Avg, Count, F, Max, Min, Q, QuerySet, Sum
from django.db.models.aggregates import Aggregate
from django.db.models.fields import FloatField

from sessions_app.models import CompactionPass, PassKind, Session
from sessions_app.pages.pass_places import light_passes
from sessions_app.pages.pass_words import FAILED

PAGE_SIZE = 100


class Median(Aggregate):
    """The median of a column."""

    function = "percentile_cont"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


@dataclass(frozen=True, slots=True)
class OutcomeCount:
    """How often passes ended in one way."""

    kind: str
    outcome: str
    count: int
    example: CompactionPass


@dataclass(frozen=True, slots=True)
class LedgerSums:
    """Sums over all passes of a session; None where no pass knows the figure."""

    outcomes: tuple[OutcomeCount, ...]
    occupancy_min_pct: float | None
    occupancy_median_pct: float | None
    occupancy_max_pct: float | None
    exchange_mean_tokens: float | None
    duration_mean_ms: float | None
    duration_max_ms: int | None
    duration_total_ms: int | None
    freed_tokens: int | None
    added_since_tokens: int | None


@dataclass(frozen=True, slots=True)
class LedgerFilter:
    """Which passes are listed. outcome: one way to end, "failed" for all failures, empty for all passes."""

    kind: str = ""
    outcome: str = ""
    before_number: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """Passes, newest first. older: the number to go on before, None at the end."""

    passes: tuple[CompactionPass, ...]
    older: int | None


def read_ledger(session: Session, ledger_filter: LedgerFilter) -> LedgerPage:
    """A page of the ledger."""
    passes = light_passes(session.pk).only(*_COLUMNS).order_by("-number")
    if ledger_filter.kind:
        passes = passes.filter(kind=ledger_filter.kind)
    if ledger_filter.outcome == "failed":
        passes = passes.filter(outcome__in=FAILED)
    elif ledger_filter.outcome:
        passes = passes.filter(outcome=ledger_filter.outcome)
    if ledger_filter.before_number is not None:
        passes = passes.filter(number__lt=ledger_filter.before_number)
    found = list(passes[: PAGE_SIZE + 1])
    shown = tuple(found[:PAGE_SIZE])
    return LedgerPage(shown, shown[-1].number if len(found) > PAGE_SIZE else None)


_COLUMNS = (
    *("id", "session_id", "number", "kind", "outcome", "reason", "detail", "notes", "origin", "seq", "at", "turn"),
    *("tokens_before", "tokens_after", "rows_before", "rows_after", "occupancy_pct", "threshold_tokens", "duration_ms"),
    *("cursor_before_position", "cursor_after_position", "cache_break_tokens", "main_model", "aux_model", "exchanges"),
    *("exchange_tokens", "rolling_summary_tokens", "input_tokens", "output_tokens", "undone_seq", "is_opaque"),
    *("committed", "unknown_archived", "trigger", "policy_revision_id"),
    *("counted_tokens_before", "counted_tokens_after"),
)


def read_sums(session: Session) -> LedgerSums:
    """The sums, in three queries over the session's passes."""
    passes = CompactionPass.objects.filter(session_id=session.pk)
    figures = passes.aggregate(
        occupancy_min_pct=Min("occupancy_pct"),
        occupancy_median_pct=Median("occupancy_pct"),
        occupancy_max_pct=Max("occupancy_pct"),
        exchange_mean_tokens=Avg("exchange_tokens", filter=Q(kind=PassKind.MICRO)),
        duration_mean_ms=Avg("duration_ms"),
        duration_max_ms=Max("duration_ms"),
        duration_total_ms=Sum("duration_ms"),
        freed_tokens=Sum(F("tokens_before") - F("tokens_after"), filter=Q(committed=True, undone_seq__isnull=True)),
    )
    return LedgerSums(outcomes_of(passes), added_since_tokens=added_since(session, passes), **figures)


def outcomes_of(passes: QuerySet[CompactionPass]) -> tuple[OutcomeCount, ...]:
    counts = passes.values_list("kind", "outcome").annotate(count=Count("id")).order_by("-count")
    return tuple(
        OutcomeCount(kind, outcome, count, CompactionPass(kind=kind, outcome=outcome))
        for kind, outcome, count in counts
    )


def added_since(session: Session, passes: QuerySet[CompactionPass]) -> int | None:
    """Tokens the live context gained since the newest pass; None when that pass does not know its own figure."""
    newest = passes.order_by("-number").values_list("counted_tokens_after", flat=True).first()
    return None if newest is None else session.live_tokens - newest
