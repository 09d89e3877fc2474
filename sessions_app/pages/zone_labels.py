"""Labels where a zone begins, put between the items of a transcript."""

from __future__ import annotations

from collections.abc import Iterable

from compaction.zones import Zones
from sessions_app.models import MessageRow, Session
from sessions_app.pages.flow import GapItem, Item, ZoneItem, ZoneName
from sessions_app.pages.session_head import SessionHead
from sessions_app.pages.transcript import RowFilter

# Counting stops here: more user rows than this in one middle are as many as nobody wants to know exactly.
MOST_COUNTED = 2_000


def with_zone_labels(items: Iterable[Item], head: SessionHead, row_filter: RowFilter) -> tuple[Item, ...]:
    """The items with a label in front of the first one of each zone. Archived rows alone have no zones."""
    zones = head.outlook.zones
    if zones is None or row_filter is RowFilter.ARCHIVED:
        return tuple(items)
    labelled: list[Item] = []
    last: ZoneName | None = None
    for item in items:
        if not isinstance(item, GapItem | ZoneItem) and item.zone is not last:
            last = item.zone
            labelled.append(label_of(last, zones, head.session))
        labelled.append(item)
    return tuple(labelled)


def label_of(zone: ZoneName, zones: Zones, session: Session) -> ZoneItem:
    match zone:
        case ZoneName.HEAD:
            return ZoneItem(zone, zones.head_rows, zones.head_tokens, None, 0, 0, 0)
        case ZoneName.TAIL:
            return ZoneItem(zone, zones.tail_rows, zones.tail_tokens, zones.budget.budget_tokens, 0, 0, 0)
        case _:
            passes = session.micro_passes + session.batch_passes + session.prune_passes
            return ZoneItem(
                zone,
                zones.middle_rows,
                zones.middle_tokens,
                None,
                session.archived_rows,
                passes,
                user_rows(session, zones),
            )


def user_rows(session: Session, zones: Zones) -> int:
    """The live user rows in the middle, which no micro pass takes: counted in an index of just these."""
    rows = MessageRow.objects.filter(session_id=session.pk, died_seq__isnull=True, role="user", kind="message")
    if zones.head_end is not None:
        rows = rows.filter(position__gt=zones.head_end.position)
    if zones.tail_start is not None:
        rows = rows.filter(position__lt=zones.tail_start.position)
    return rows.values("position")[:MOST_COUNTED].count()
