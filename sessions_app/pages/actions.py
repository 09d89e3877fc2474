"""What the page of actions shows: what can be taken back, and what asking models has cost so far."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import CompactionPass, PassOrigin, Session
from sessions_app.pages.pass_places import light_passes
from sessions_app.queries.calls import CallTotals, totals_of_session


@dataclass(frozen=True, slots=True)
class ActionsPage:
    """undoable: the pass an undo takes back, None when there is none."""

    undoable: CompactionPass | None
    calls: CallTotals
    is_hosted: bool


def read_actions(session: Session) -> ActionsPage:
    """The page, in two queries."""
    newest = light_passes(session.pk).filter(committed=True, undone_seq__isnull=True).order_by("-number").first()
    is_ours = newest is not None and newest.origin == PassOrigin.ENGINE and newest.seq > (session.reset_seq or 0)
    return ActionsPage(newest if is_ours else None, totals_of_session(session.pk), session.source == Session.HOSTED)
