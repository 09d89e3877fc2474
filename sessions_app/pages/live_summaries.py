"""The live summaries of a session as cards among its rows.

A card stands behind the last row that its pass archived, wherever the summary row has its own place in the model's
view: there a reader sees what it stands for. A summary whose pass archived no row that is known stands at that place.
"""

from __future__ import annotations

from django.db.models import OuterRef, Subquery

from sessions_app.models import CompactionPass, Session, SummaryRevision
from sessions_app.pages.flow import BEHIND_ALL_IDS, Key, SummaryItem
from sessions_app.pages.outlook import Outlook
from sessions_app.pages.pass_places import light_passes
from sessions_app.pages.row_source import SourceRow, read_rows
from sessions_app.pages.walk import flow_rows
from sessions_app.queries.moments import live_summaries


def read_summary_items(session: Session, outlook: Outlook) -> list[SummaryItem]:
    """The cards of the live summaries in order; there are few."""
    rows = read_rows(live_summaries(session))
    makers, revisions = _makers(session, rows), _revisions(session, rows)
    # Once batch and micro passes have both archived rows, this counter no longer tells whose they are.
    stands_for = session.archived_rows if not session.batch_passes else None
    items = [
        SummaryItem(
            row=row,
            revision=revisions.get(row.id),
            made_by=makers.get(row.made_by_id),
            archived_rows=stands_for,
            zone=outlook.zone_of(row.key),
            key=_place(row, makers.get(row.made_by_id)),
        )
        for row in rows
    ]
    return sorted(items, key=lambda item: item.key)


def _makers(session: Session, rows: list[SourceRow]) -> dict[int | None, CompactionPass]:
    """The passes that made these rows, each with `last_archived`: the position of the last row it archived, if any."""
    ids = {row.made_by_id for row in rows if row.made_by_id is not None}
    if not ids:
        return {}
    archived = flow_rows(session).filter(archived_by_id=OuterRef("pk")).order_by("-position", "-id")
    passes = light_passes(session.pk).filter(id__in=ids)
    return {one.pk: one for one in passes.annotate(last_archived=Subquery(archived.values("position")[:1]))}


def _revisions(session: Session, rows: list[SourceRow]) -> dict[int | None, SummaryRevision]:
    """The versions that these summary rows are, by row."""
    if not rows:
        return {}
    found = SummaryRevision.objects.filter(session_id=session.pk, row_id__in=[row.id for row in rows])
    return {one.row_id: one for one in found.order_by("-number")}


def _place(row: SourceRow, made_by: CompactionPass | None) -> Key:
    last_archived: int | None = getattr(made_by, "last_archived", None)
    return row.key if last_archived is None else (last_archived, BEHIND_ALL_IDS)
