"""What the page of actions shows: what can be taken back, and what asking models has cost so far."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import CompactionPass, PassOrigin, Session
from sessions_app.pages.action_effects import (
    BranchEffect,
    ResetEffect,
    UndoEffect,
    branch_effect,
    reset_effect,
    undo_effect,
)
from sessions_app.pages.pass_places import light_passes
from sessions_app.queries.calls import CallTotals, totals_of_session


@dataclass(frozen=True, slots=True)
class ActionsPage:
    """undo: what an undo would change, None when no pass can be taken back. branch: at the chosen event, None when the
    session has no such event."""

    undo: UndoEffect | None
    reset: ResetEffect
    branch: BranchEffect | None
    calls: CallTotals
    is_hosted: bool

    @property
    def undoable(self) -> CompactionPass | None:
        """The pass an undo takes back."""
        return None if self.undo is None else self.undo.made_by


def read_actions(session: Session, seq: int | None, version: int | None) -> ActionsPage:
    """The page. seq: the event chosen for a branch, None for the newest. version: of the live summary."""
    newest = light_passes(session.pk).filter(committed=True, undone_seq__isnull=True).order_by("-number").first()
    is_ours = newest is not None and newest.origin == PassOrigin.ENGINE and newest.seq > (session.reset_seq or 0)
    return ActionsPage(
        undo=undo_effect(session, newest if is_ours else None),
        reset=reset_effect(session, version),
        branch=branch_effect(session, seq),
        calls=totals_of_session(session.pk),
        is_hosted=session.source == Session.HOSTED,
    )
