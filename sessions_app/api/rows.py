"""Rows: everything that was ever stored in a session, live or not."""

from __future__ import annotations

from datetime import datetime

from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from compaction.messages import RowKey, RowKind
from compaction.wire import message_to_openai
from sessions_app.api.answers import acts_on_hosted, reads, searches
from sessions_app.api.appending import AppendedShape, NewRows, append_to
from sessions_app.api.authentication import WRITE, ApiRequest
from sessions_app.api.errors import bad_parameter
from sessions_app.api.parameters import JsonObject, Number, PageQuery, PublicId, SearchText, cursor_place, cursor_text
from sessions_app.api.reach import get_hosted_session, get_session
from sessions_app.api.searching import found_rows, searching
from sessions_app.mapping import message_of
from sessions_app.models import MessageRow
from sessions_app.queries.row_pages import RowState, read_row_page, rows_of

router = Router(tags=["rows"])


class UsageShape(Schema):
    """Tokens as the provider reported them; null where it did not."""

    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None


class RowShape(Schema):
    """One row. It was in the live context from event born_seq to before event died_seq; null while it is."""

    id: int
    position: int
    kind: RowKind
    born_seq: int
    died_seq: int | None
    made_by_pass: int | None = Field(description="Number of the pass that inserted it.")
    archived_by_pass: int | None = Field(description="Number of the pass that took it out.")
    replaces: int | None = Field(description="The row it stands for: the original of a pruned result.")
    message: JsonObject = Field(description="As a provider takes it.")
    by_person: bool
    tokens: int
    token_counter: str
    reasoning_tokens: int | None
    client_id: str | None
    at: datetime | None
    turn: int | None
    model: str | None
    usage: UsageShape
    raw: str | None = Field(description="The source's own record, with `raw=true`; null if there is none.")


class RowPageShape(Schema):
    """Rows in order. next: send it as `after`; previous: send it as `before`; null where nothing more lies."""

    rows: list[RowShape]
    next: str | None
    previous: str | None


class RawQuery(Schema):
    """Whether the source's record is wanted."""

    raw: bool = Field(False, description="With the source's own record of each row.")


class RowQuery(PageQuery, RawQuery):
    """Which rows. A page of large rows holds fewer than `limit`."""

    state: RowState = RowState.ALL
    q: SearchText = Field("", description="Words that the row holds; see the search of the pages.")
    after: str = Field("", max_length=200, description="`next` of another page.")
    before: str = Field("", max_length=200, description="`previous` of another page.")


def shape_row(row: MessageRow, *, raw: bool = False) -> RowShape:
    """A row as lists, single reads and exports tell it."""
    return RowShape(
        id=row.pk,
        position=row.position,
        kind=RowKind(row.kind),
        born_seq=row.born_seq,
        died_seq=row.died_seq,
        made_by_pass=None if row.made_by is None else row.made_by.number,
        archived_by_pass=None if row.archived_by is None else row.archived_by.number,
        replaces=row.replaces_id,
        message=message_to_openai(message_of(row)),
        by_person=row.by_person,
        tokens=row.tokens,
        token_counter=row.token_counter,
        reasoning_tokens=row.reasoning_tokens,
        client_id=row.foreign_id,
        at=row.at,
        turn=row.turn,
        model=row.model,
        usage=shape_usage(row),
        raw=(row.raw or None) if raw else None,
    )


def shape_usage(row: MessageRow) -> UsageShape:
    return UsageShape(
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cache_read_tokens=row.cache_read_tokens,
        cache_write_tokens=row.cache_write_tokens,
    )


@router.get("/sessions/{public_id}/rows", response=searches(RowPageShape), operation_id="list_rows")
def list_rows(request: ApiRequest, public_id: PublicId, query: Query[RowQuery]) -> RowPageShape:
    """Rows in order, from the first one on, behind a cursor, or in front of one."""
    if query.after and query.before:
        raise bad_parameter("before", "give either `after` or `before`")
    session = get_session(request.auth, public_id)
    rows = found_rows(rows_of(session.pk, query.state), session, query.q)
    if not query.raw:
        rows = rows.defer("raw")
    after, before = key_of("after", query.after), key_of("before", query.before)
    with searching(query.q):
        page = read_row_page(rows, query.limit, after=after, before=before)
    following = cursor_of(page.rows[-1]) if page.rows and page.has_later else None
    previous = cursor_of(page.rows[0]) if page.rows and page.has_earlier else None
    shapes = [shape_row(row, raw=query.raw) for row in page.rows]
    return RowPageShape(rows=shapes, next=following, previous=previous)


@router.get("/sessions/{public_id}/rows/{row_id}", response=reads(RowShape), operation_id="get_row")
def read_row(request: ApiRequest, public_id: PublicId, row_id: Number, query: Query[RawQuery]) -> RowShape:
    """One row, whole."""
    session = get_session(request.auth, public_id)
    return shape_row(get_object_or_404(rows_of(session.pk), id=row_id), raw=query.raw)


@router.post(
    "/sessions/{public_id}/rows", response=acts_on_hosted(AppendedShape), auth=WRITE, operation_id="append_rows"
)
def append(request: ApiRequest, public_id: PublicId, body: NewRows) -> AppendedShape:
    """Append rows, all or none. Rows whose `client_id` the session knows change nothing, so sending again is safe."""
    return append_to(get_hosted_session(request.auth, public_id), body.rows)


def cursor_of(row: MessageRow) -> str:
    return cursor_text(f"{row.position}-{row.pk}")


def key_of(name: str, cursor: str) -> RowKey | None:
    """The row a cursor stands at; None without a cursor."""
    if not cursor:
        return None
    position, _, row_id = cursor_place(name, cursor).partition("-")
    if not all(part.isascii() and part.isdigit() and len(part) < 19 for part in (position, row_id)):
        raise bad_parameter(name, "this is no cursor of this list")
    return RowKey(int(position), int(row_id))
