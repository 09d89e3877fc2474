"""What is in the store after a run, in lines for its report."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection
from django.db.models import Count

from sessions_app.models import CompactionPass, MessageRow, ModelCall, Turn


def figure_lines() -> Iterator[str]:
    """Rows, turns, passes by kind and outcome, jobs by what became of them."""
    rows = MessageRow.objects.filter(kind="message")
    yield f"rows         {rows.count():,}, of which {rows.filter(archived_by__isnull=False).count():,} are archived"
    yield f"turns        {Turn.objects.count():,}"
    passes = CompactionPass.objects.values_list("kind", "outcome").annotate(count=Count("id")).order_by("-count")
    told = ", ".join(f"{count:,} {kind} {outcome}" for kind, outcome, count in passes)
    yield f"passes       {CompactionPass.objects.count():,}: {told}"
    yield f"overtaken    {overtaken_passes():,} passes were asked for and came too late (stale)"
    yield "jobs         " + ", ".join(f"{count:,} {status}" for status, count in jobs())


def overtaken_passes() -> int:
    """Passes whose summary was asked for and that found another pass committed when they came back."""
    return ModelCall.objects.filter(compaction_pass__isnull=True).count()


def jobs() -> list[tuple[str, int]]:
    with connection.cursor() as cursor:
        cursor.execute("select status::text, count(*) from procrastinate_jobs group by 1 order by 1")
        return [(str(status), int(count)) for status, count in cursor.fetchall()]
