"""Sessions: listed, made, read, ended, deleted."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet
from django.http import Http404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from compaction.threshold import occupancy_pct
from sessions_app.api.answers import acts, acts_on_hosted, reads, searches, writes
from sessions_app.api.authentication import WRITE, ApiRequest
from sessions_app.api.errors import bad_parameter
from sessions_app.api.parameters import (
    MOST_TOKENS,
    BodySchema,
    PageQuery,
    PublicId,
    SearchText,
    Slug,
    Text,
    cursor_place,
    cursor_text,
)
from sessions_app.api.reach import get_hosted_session, get_project, get_session
from sessions_app.api.searching import searched, searching
from sessions_app.models import Project, Session
from sessions_app.origins import token_origin
from sessions_app.pages.session_list import SessionOrder, beyond, cursor_of, read_cursor, sort_value
from sessions_app.services import delete_session, end_session
from sessions_app.services.opening import Opening, open_session

router = Router(tags=["sessions"])
ORDER: Final = SessionOrder.ACTIVITY


class RowCounts(Schema):
    """How many rows, by what became of them. live: in the live context, summaries among them. archived: message rows
    that a pass took out. rewound: message rows that left it without a pass. summaries: live summary rows."""

    live: int
    archived: int
    rewound: int
    summaries: int


class PassCounts(Schema):
    """Passes by kind, as far as they changed something; failed ones; all of them."""

    micro: int
    defrag: int
    batch: int
    prune: int
    failed: int
    total: int


class SessionShape(Schema):
    """A session. Unknown is null, never 0."""

    id: str
    project: str
    client_id: str = Field(description="The id its maker or its source gave it.")
    title: str
    source: str
    status: str
    model: str | None
    started_at: datetime | None
    ended_at: datetime | None
    end_reason: str | None
    last_activity_at: datetime | None
    last_seq: int = Field(description="Number of the newest event.")
    turns: int
    rows: RowCounts
    passes: PassCounts
    live_tokens: int
    fixed_overhead_tokens: int | None
    window_tokens: int | None
    threshold_tokens: int | None
    threshold_source: str
    occupancy_pct: float | None
    is_held: bool = Field(description="Automatic passes are held.")
    last_error: str
    last_error_at: datetime | None


class SessionPage(Schema):
    """Sessions, newest activity first. next: send it as `after` for the older ones; null at the end."""

    sessions: list[SessionShape]
    next: str | None


class SessionQuery(PageQuery):
    """Which sessions."""

    q: SearchText = Field("", description="Words of a title, an id, or a row, live or archived.")
    after: str = Field("", max_length=200, description="`next` of the page before.")


class NewSession(BodySchema):
    """A session to be made. Figures that are left out are the project's."""

    title: Text = Field("", max_length=500)
    client_id: Text | None = Field(None, min_length=1, max_length=200, description="Your id: sent again, nothing new.")
    model: Text | None = Field(None, min_length=1, max_length=200)
    window_tokens: int | None = Field(None, ge=1, le=MOST_TOKENS)
    fixed_overhead_tokens: int | None = Field(None, ge=0, le=MOST_TOKENS)


class SessionEnd(BodySchema):
    """Why a session ends."""

    reason: Text = Field("", max_length=500)


class DeletedShape(Schema):
    """What is gone, and what came from it and stays."""

    deleted: list[str] = Field(description="The session and those that continue it or are continued by it, root first.")
    kept: list[str] = Field(description="Branches and sub-agents, which have lost their link to it.")


def shape_session(session: Session) -> SessionShape:
    """A session as every answer of the API tells it."""
    overhead = session.fixed_overhead_tokens
    return SessionShape(
        id=session.public_id,
        project=session.project.slug,
        client_id=session.foreign_id,
        title=session.title,
        source=session.source,
        status=session.status,
        model=session.model,
        started_at=session.started_at,
        ended_at=session.ended_at,
        end_reason=session.end_reason,
        last_activity_at=session.last_activity_at,
        last_seq=session.last_seq,
        turns=session.turns_total,
        rows=shape_row_counts(session),
        passes=shape_pass_counts(session),
        live_tokens=session.live_tokens,
        fixed_overhead_tokens=overhead,
        window_tokens=session.window_tokens,
        threshold_tokens=session.threshold_tokens,
        threshold_source=session.threshold_source,
        occupancy_pct=occupancy_pct(session.live_tokens, session.threshold_tokens, overhead or 0),
        is_held=session.is_held,
        last_error=session.last_error,
        last_error_at=session.last_error_at,
    )


def shape_row_counts(session: Session) -> RowCounts:
    return RowCounts(
        live=session.live_rows,
        archived=session.archived_rows,
        rewound=session.rewound_rows,
        summaries=session.summary_rows,
    )


def shape_pass_counts(session: Session) -> PassCounts:
    return PassCounts(
        micro=session.micro_passes,
        defrag=session.defrag_passes,
        batch=session.batch_passes,
        prune=session.prune_passes,
        failed=session.failed_passes,
        total=session.passes_total,
    )


@router.get("/projects/{slug}/sessions", response=searches(SessionPage), operation_id="list_sessions")
def list_sessions(request: ApiRequest, slug: Slug, query: Query[SessionQuery]) -> SessionPage:
    """The project's sessions, newest activity first."""
    return read_session_page(get_project(request.auth, slug), query)


@router.post(
    "/projects/{slug}/sessions", response=writes(SessionShape, 200, 201), auth=WRITE, operation_id="create_session"
)
def create_session(request: ApiRequest, slug: Slug, body: NewSession) -> Status[SessionShape]:
    """Make a session (201). With a `client_id` that is taken, nothing is made and that session comes back (200)."""
    opening = Opening(**body.model_dump())
    session, is_new = open_session(get_project(request.auth, slug), opening)
    return Status(201 if is_new else 200, shape_session(session))


@router.get("/sessions/{public_id}", response=reads(SessionShape), operation_id="get_session")
def read_session(request: ApiRequest, public_id: PublicId) -> SessionShape:
    """One session."""
    return shape_session(get_session(request.auth, public_id))


@router.delete("/sessions/{public_id}", response=acts(DeletedShape), auth=WRITE, operation_id="delete_session")
def delete(request: ApiRequest, public_id: PublicId) -> DeletedShape:
    """Delete a session for good, hosted or imported, with its rows, passes, summaries, events and ledger of calls."""
    session = get_session(request.auth, public_id)
    try:
        done = delete_session(session.pk, origin=token_origin(request, request.auth))
    except Session.DoesNotExist:
        raise Http404("somebody was first") from None
    return DeletedShape(deleted=list(done.deleted), kept=list(done.kept))


@router.post("/sessions/{public_id}/end", response=acts_on_hosted(SessionShape), auth=WRITE, operation_id="end_session")
def end(request: ApiRequest, public_id: PublicId, body: SessionEnd) -> SessionShape:
    """Note that nothing more will come. Ending it again changes nothing; a later row opens it again."""
    end_session(get_hosted_session(request.auth, public_id).pk, body.reason)
    return shape_session(get_session(request.auth, public_id))


def read_session_page(project: Project, query: SessionQuery) -> SessionPage:
    """A page of sessions, in one query, or two for a search."""
    # An annotated column is not a field, which is all that the type of a plain query set knows.
    sessions_of_project: QuerySet[Any] = Session.objects.filter(project=project).select_related("project")
    found: Any = searched(sessions_of_project, project, query.q).annotate(sort_value=sort_value(ORDER))
    if query.after:
        place = read_cursor(cursor_place("after", query.after), ORDER)
        if place is None:
            raise bad_parameter("after", "this is no cursor of this list")
        found = beyond(found, place, backwards=False)
    with searching(query.q):
        sessions = list(found.order_by("-sort_value", "-id")[: query.limit + 1])
    shown = sessions[: query.limit]
    following = cursor_text(cursor_of(shown[-1])) if len(sessions) > query.limit else None
    return SessionPage(sessions=[shape_session(one) for one in shown], next=following)
