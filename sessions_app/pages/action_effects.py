"""What acting on a session would change, said before anybody does it: rows, tokens, versions, passes that are held.

Reads only; the figures are those the services would come to on the session as it is now.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, Sum

from sessions_app.models import CompactionPass, MessageRow, Session, SessionEvent, SummaryRevision
from sessions_app.services.resetting import rows_behind_prompt


@dataclass(frozen=True, slots=True)
class UndoEffect:
    """An undo of `made_by`: rows that live again and rows that are withdrawn, with their tokens.

    version: the version of the summary that is withdrawn; earlier_version: the one that lives again; None for none.
    """

    made_by: CompactionPass
    revived_rows: int
    revived_tokens: int
    withdrawn_rows: int
    withdrawn_tokens: int
    tokens_before: int
    version: int | None
    earlier_version: int | None

    @property
    def tokens_after(self) -> int:
        """The live tokens after it."""
        return self.tokens_before + self.revived_tokens - self.withdrawn_tokens


@dataclass(frozen=True, slots=True)
class ResetEffect:
    """A reset: rows that leave the context, and what stays."""

    leaving_rows: int
    leaving_tokens: int
    kept_rows: int
    kept_tokens: int
    version: int | None
    passes: int


@dataclass(frozen=True, slots=True)
class BranchEffect:
    """A branch at event `seq`: what it begins with. position: the newest row it holds, None for none."""

    seq: int
    rows: int
    tokens: int
    position: int | None
    left_behind: int


def undo_effect(session: Session, made_by: CompactionPass | None) -> UndoEffect | None:
    """What taking a pass back would change; None when there is none to take back."""
    if made_by is None:
        return None
    archived = Q(archived_by=made_by)
    made = Q(made_by=made_by, died_seq__isnull=True)
    rows = MessageRow.objects.filter(session_id=session.pk)
    sums = rows.filter(archived | made).aggregate(
        revived_rows=Count("id", filter=archived),
        revived_tokens=Sum("tokens", filter=archived, default=0),
        withdrawn_rows=Count("id", filter=made),
        withdrawn_tokens=Sum("tokens", filter=made, default=0),
    )
    versions = SummaryRevision.objects.filter(session_id=session.pk)
    ours = versions.filter(compaction_pass=made_by).order_by("-number").values_list("number", flat=True).first()
    earlier = versions.filter(superseded_by=made_by).order_by("-number").values_list("number", flat=True).first()
    return UndoEffect(made_by, **sums, tokens_before=session.live_tokens, version=ours, earlier_version=earlier)


def reset_effect(session: Session, version: int | None) -> ResetEffect:
    """What a reset would take out."""
    sums = rows_behind_prompt(session.pk).aggregate(rows=Count("id"), tokens=Sum("tokens", default=0))
    return ResetEffect(
        leaving_rows=sums["rows"],
        leaving_tokens=sums["tokens"],
        kept_rows=session.live_rows - sums["rows"],
        kept_tokens=session.live_tokens - sums["tokens"],
        version=version,
        passes=session.passes_total,
    )


def branch_effect(session: Session, seq: int | None) -> BranchEffect | None:
    """What a branch at an event would begin with; None when the session has no such event."""
    wanted = session.last_seq if seq is None else seq
    event = SessionEvent.objects.filter(session_id=session.pk, seq=wanted).first()
    if event is None:
        return None
    return BranchEffect(wanted, event.live_rows, event.live_tokens, event.last_position, session.last_seq - wanted)
