"""Summaries: every version there was."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from sessions_app.api.answers import reads
from sessions_app.api.authentication import ApiRequest
from sessions_app.api.parameters import Number, PageQuery, PublicId, Seq
from sessions_app.api.reach import get_session
from sessions_app.models import SummaryKind, SummaryRevision
from sessions_app.queries.summary_pages import read_summary_page, summaries_of

router = Router(tags=["summaries"])


class SummaryShape(Schema):
    """A version of a summary, without the frame around it. text: null when its source keeps it unreadable."""

    number: int
    kind: SummaryKind
    text: str | None
    tokens: int | None
    made_by_pass: int
    superseded_by_pass: int | None = Field(description="Null for the version in force.")
    row_id: int | None


class SummaryPage(Schema):
    """Versions, oldest first. next: send it as `after`; null at the end."""

    summaries: list[SummaryShape]
    next: int | None


class SummaryQuery(PageQuery):
    """Which versions."""

    after: Seq = Field(0, description="`next` of the page before.")


def shape_summary(stored: SummaryRevision) -> SummaryShape:
    """A version as lists, single reads and exports tell it."""
    return SummaryShape(
        number=stored.number,
        kind=SummaryKind(stored.kind),
        text=stored.text,
        tokens=stored.tokens,
        made_by_pass=stored.compaction_pass.number,
        superseded_by_pass=None if stored.superseded_by is None else stored.superseded_by.number,
        row_id=stored.row_id,
    )


@router.get("/sessions/{public_id}/summaries", response=reads(SummaryPage), operation_id="list_summaries")
def list_summaries(request: ApiRequest, public_id: PublicId, query: Query[SummaryQuery]) -> SummaryPage:
    """Every version of the session's summaries, oldest first."""
    session = get_session(request.auth, public_id)
    page = read_summary_page(session.pk, query.after, query.limit)
    return SummaryPage(summaries=[shape_summary(one) for one in page.summaries], next=page.next_after)


@router.get("/sessions/{public_id}/summaries/{number}", response=reads(SummaryShape), operation_id="get_summary")
def read_summary(request: ApiRequest, public_id: PublicId, number: Number) -> SummaryShape:
    """One version."""
    session = get_session(request.auth, public_id)
    return shape_summary(get_object_or_404(summaries_of(session.pk), number=number))
