"""What the page that deletes a session says beforehand: what goes, and what stays."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app import services
from sessions_app.models import Session


@dataclass(frozen=True, slots=True)
class DeletionPage:
    """going: the sessions that are deleted together, root first. staying: sessions that came from them, at most
    `MOST_SHOWN`, of `staying_total`. rows, passes: sums over what goes, live and archived rows alike."""

    going: tuple[Session, ...]
    staying: tuple[Session, ...]
    staying_total: int
    rows: int
    passes: int


MOST_SHOWN = 20


def read_deletion(session: Session) -> DeletionPage:
    """What deleting `session` would take."""
    going = services.chain_of(session)
    ids = [one.pk for one in going]
    staying = Session.objects.filter(parent_id__in=ids).exclude(pk__in=ids).order_by("id")
    return DeletionPage(
        going=going,
        staying=tuple(staying[:MOST_SHOWN]),
        staying_total=staying.count(),
        rows=sum(one.live_rows + one.archived_rows + one.rewound_rows for one in going),
        passes=sum(one.passes_total for one in going),
    )
