"""The ledger of passes: every pass with its facts, a page at a time, and the sums over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Avg, Count, F, Max, Min, Q, QuerySet, Sum
from django.db.models.aggregates import Aggregate
from django.db.models.fields import FloatField

from sessions_app.models import CompactionPass, PassKind, Session, Turn
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
    """Which passes are listed. outcome: one way to end, "failed" for all failures, empty for all passes.

    over_pct, slower_ms, larger_tokens: at least this occupancy after the pass, this time in the summarizer, this large
    an exchange. has_freed: passes that made the context smaller and were not undone.
    """

    kind: str = ""
    outcome: str = ""
    before_number: int | None = None
    over_pct: float | None = None
    slower_ms: int | None = None
    larger_tokens: int | None = None
    has_freed: bool = False

    @property
    def is_narrow(self) -> bool:
        """Whether some passes are left out."""
        figures = (self.over_pct, self.slower_ms, self.larger_tokens)
        return bool(self.kind or self.outcome or self.has_freed) or any(figure is not None for figure in figures)

    def conditions(self) -> Q:
        """What a pass must meet."""
        met = Q()
        if self.kind:
            met &= Q(kind=self.kind)
        if self.outcome:
            met &= Q(outcome__in=FAILED) if self.outcome == "failed" else Q(outcome=self.outcome)
        if self.over_pct is not None:
            # Shares are shown with one decimal.
            met &= Q(occupancy_pct__gte=self.over_pct - 0.05)
        if self.slower_ms is not None:
            met &= Q(duration_ms__gte=self.slower_ms)
        if self.larger_tokens is not None:
            met &= Q(exchange_tokens__gte=self.larger_tokens)
        if self.has_freed:
            met &= Q(committed=True, undone_seq__isnull=True, tokens_after__lt=F("tokens_before"))
        return met


@dataclass(frozen=True, slots=True)
class TurnTime:
    """How long a turn took: the reply, and the work after it. None where a time is missing."""

    reply_ms: int | None
    after_ms: int | None


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """Passes, newest first. older: the number to go on before, None at the end. turn_times: by the number of a turn."""

    passes: tuple[CompactionPass, ...]
    older: int | None
    turn_times: Mapping[int, TurnTime] = field(default_factory=dict)


def read_ledger(session: Session, ledger_filter: LedgerFilter) -> LedgerPage:
    """A page of the ledger."""
    passes = light_passes(session.pk).select_related("policy_revision", "session_policy_revision")
    passes = passes.only(*_COLUMNS, "policy_revision__number", "session_policy_revision__number")
    passes = passes.order_by("-number").filter(ledger_filter.conditions())
    if ledger_filter.before_number is not None:
        passes = passes.filter(number__lt=ledger_filter.before_number)
    found = list(passes[: PAGE_SIZE + 1])
    shown = tuple(found[:PAGE_SIZE])
    times = read_turn_times(session, {one.turn for one in shown if one.turn is not None})
    return LedgerPage(shown, shown[-1].number if len(found) > PAGE_SIZE else None, times)


def read_turn_times(session: Session, numbers: set[int]) -> dict[int, TurnTime]:
    """The times of some turns; imported ones know none."""
    turns = Turn.objects.filter(session_id=session.pk, number__in=numbers)
    columns = ("number", "started_at", "reply_sent_at", "ended_at")
    return {
        number: TurnTime(between_ms(started_at, reply_sent_at), between_ms(reply_sent_at, ended_at))
        for number, started_at, reply_sent_at, ended_at in turns.values_list(*columns)
        if reply_sent_at is not None
    }


def between_ms(start: datetime | None, end: datetime | None) -> int | None:
    """The time from one moment to another; None where one is missing or they run backwards."""
    if start is None or end is None or end < start:
        return None
    return round((end - start).total_seconds() * 1000)


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
