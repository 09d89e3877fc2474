"""What is known of a project from its newest sessions: sizes, counts and times that settings are weighed against.

Bounded: the newest sessions only, by their counters and passes. Unknown is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db.models import Avg, Count, F, Max, Q, QuerySet, Sum

from sessions_app.models import CompactionPass, PassKind, PassOrigin, Project, Session

NEWEST_SESSIONS: Final = 20


@dataclass(frozen=True, slots=True)
class SummarizerFigures:
    """One summarizer in the newest passes. failed: passes that ended without a usable reply."""

    model: str
    passes: int
    mean_ms: float | None
    longest_ms: int | None


@dataclass(frozen=True, slots=True)
class ProjectFigures:
    """sessions: how many of the newest had a turn, and are counted here. exchange_tokens: mean of what one turn's agent
    part holds. rows_per_turn: mean. batch_sessions: of the sessions, how many had a batch pass. overhead_tokens: the
    largest fixed part of a request that any session has. user_tokens: mean of a session's own words, which micro never
    takes. slow: summarizers by how long they take, slowest first."""

    sessions: int
    turns: int
    longest_turns: int
    exchange_tokens: float | None
    rows_per_turn: float | None
    user_tokens: float | None
    batch_sessions: int
    batch_passes: int
    batch_ms: float | None
    micro_ms: float | None
    micro_freed_tokens: float | None
    micro_rebilled_tokens: float | None
    overhead_tokens: int | None
    slow: tuple[SummarizerFigures, ...]

    @property
    def mean_turns(self) -> float | None:
        """Turns of a session."""
        return self.turns / self.sessions if self.sessions else None

    @property
    def requests_per_turn(self) -> float | None:
        """About how often the model is asked in one turn: every call of a tool is a row and so is its result."""
        return None if self.rows_per_turn is None else max(1.0, (self.rows_per_turn - 1) / 2)


def newest_sessions(project: Project) -> QuerySet[Session]:
    """The sessions that figures and trials are about, newest first."""
    return project.sessions.filter(turns_total__gt=0).order_by("-listed_at", "-id")[:NEWEST_SESSIONS]


def read_figures(project: Project) -> ProjectFigures:
    """The figures, in four queries."""
    ids = list(newest_sessions(project).values_list("pk", flat=True))
    sessions = Session.objects.filter(pk__in=ids)
    sums = sessions.aggregate(
        turns=Sum("turns_total"),
        longest=Max("turns_total"),
        rows=Sum(F("live_rows") - F("summary_rows") + F("archived_rows")),
        user=Sum("user_tokens"),
        batches=Sum("batch_passes"),
        with_batch=Count("pk", filter=Q(batch_passes__gt=0)),
        overhead=Max("fixed_overhead_tokens"),
    )
    turns = sums["turns"] or 0
    passes = CompactionPass.objects.filter(session_id__in=ids)
    made = passes.aggregate(
        exchange=Avg("exchange_tokens", filter=Q(kind=PassKind.MICRO, exchange_tokens__gt=0)),
        micro_ms=Avg("duration_ms", filter=Q(kind=PassKind.MICRO)),
        batch_ms=Avg("duration_ms", filter=Q(kind=PassKind.BATCH)),
        freed=Avg(F("tokens_before") - F("tokens_after"), filter=Q(kind=PassKind.MICRO, committed=True)),
        rebilled=Avg("cache_break_tokens", filter=Q(kind=PassKind.MICRO, committed=True)),
    )
    return ProjectFigures(
        sessions=len(ids),
        turns=turns,
        longest_turns=sums["longest"] or 0,
        exchange_tokens=made["exchange"] if made["exchange"] is not None else agent_tokens_per_turn(ids, turns),
        rows_per_turn=sums["rows"] / turns if turns else None,
        user_tokens=sums["user"] / len(ids) if ids else None,
        batch_sessions=sums["with_batch"],
        batch_passes=sums["batches"] or 0,
        batch_ms=made["batch_ms"],
        micro_ms=made["micro_ms"],
        micro_freed_tokens=made["freed"],
        micro_rebilled_tokens=made["rebilled"],
        overhead_tokens=max((one for one in (sums["overhead"], project.fixed_overhead_tokens) if one), default=None),
        slow=summarizers_of(passes),
    )


def agent_tokens_per_turn(ids: list[int], turns: int) -> float | None:
    """What a turn's agent part holds where no pass has measured it: live rows over turns of untouched sessions."""
    untouched = Session.objects.filter(pk__in=ids, archived_rows=0)
    sums = untouched.aggregate(tokens=Sum(F("assistant_tokens") + F("tool_tokens")), turns=Sum("turns_total"))
    return sums["tokens"] / sums["turns"] if sums["turns"] else None


def summarizers_of(passes: QuerySet[CompactionPass]) -> tuple[SummarizerFigures, ...]:
    """The summarizers of passes that this site made, slowest first."""
    own = passes.filter(origin=PassOrigin.ENGINE, duration_ms__isnull=False, aux_model__gt="")
    found = own.values("aux_model").annotate(passes=Count("pk"), mean=Avg("duration_ms"), longest=Max("duration_ms"))
    return tuple(
        SummarizerFigures(one["aux_model"] or "", one["passes"], one["mean"], one["longest"])
        for one in found.order_by("-mean")[:5]
    )
