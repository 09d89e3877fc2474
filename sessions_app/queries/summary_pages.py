"""Versions of a session's summaries with the passes that made and superseded them, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from sessions_app.models import SummaryRevision


@dataclass(frozen=True, slots=True)
class SummaryPage:
    """Versions, oldest first. next_after: the number to go on behind, None at the end."""

    summaries: tuple[SummaryRevision, ...]
    next_after: int | None


def summaries_of(session_id: int) -> QuerySet[SummaryRevision]:
    """All versions, with the numbers of their passes."""
    linked = SummaryRevision.objects.filter(session_id=session_id).select_related("compaction_pass", "superseded_by")
    own = ("id", "session_id", "number", "kind", "text", "tokens", "row_id", "compaction_pass_id", "superseded_by_id")
    return linked.only(*own, "compaction_pass__number", "superseded_by__number").order_by("number")


def read_summary_page(session_id: int, after: int, limit: int) -> SummaryPage:
    """At most `limit` versions behind number `after`, in one query."""
    found = list(summaries_of(session_id).filter(number__gt=after)[: limit + 1])
    shown = tuple(found[:limit])
    return SummaryPage(shown, shown[-1].number if len(found) > limit else None)
