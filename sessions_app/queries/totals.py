"""A session's totals counted from its rows, to hold against the counters that writes keep.

Reads the whole session: for checks and repairs, never for a page.
"""

from __future__ import annotations

from django.db.models import Count, Q, Sum

from compaction.messages import Role, RowKind
from sessions_app.counters import COUNTER_COLUMNS, token_column
from sessions_app.models import MessageRow, Session


def recounted(session_id: int) -> dict[str, int]:
    """Each counter column of the session as its rows say it should be."""
    totals = dict.fromkeys(COUNTER_COLUMNS, 0)
    groups = (
        MessageRow.objects.filter(session_id=session_id)
        .values_list("kind", "role")
        .annotate(
            live=Count("id", filter=Q(died_seq__isnull=True)),
            live_tokens=Sum("tokens", filter=Q(died_seq__isnull=True), default=0),
            archived=Count("id", filter=Q(archived_by__isnull=False)),
            dead=Count("id", filter=Q(died_seq__isnull=False)),
        )
    )
    for stored_kind, role, live, live_tokens, archived, dead in groups:
        kind = RowKind(stored_kind)
        totals["live_rows"] += live
        totals["summary_rows"] += live if kind.is_summary else 0
        totals["live_tokens"] += live_tokens
        totals[token_column(kind, Role(role))] += live_tokens
        if kind is RowKind.MESSAGE:
            totals["archived_rows"] += archived
            totals["rewound_rows"] += dead - archived
    return totals


def counted(session: Session) -> dict[str, int]:
    """Each counter column as the session has it."""
    return {column: getattr(session, column) for column in COUNTER_COLUMNS}
