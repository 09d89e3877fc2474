"""The list of sessions: filters, order, keyset paging, and what one line of it says.

Everything the reader chose stands in a `SessionFilters`, which the address carries. A page is one query for sessions
and one for the sparklines of the sessions on it, however long they are. A search adds a bounded number of reads, each
of which the database ends when it takes too long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from compaction.threshold import occupancy_pct
from sessions_app.models import Project, Session, SessionStatus
from sessions_app.models.sessions import occupancy_pct as occupancy_of_session
from sessions_app.models.sessions import occupancy_to_sort_by
from sessions_app.pages.session_hits import SessionLineHits, read_session_hits, titled, titled_as, too_long_note
from sessions_app.queries.bounded import TookTooLong, bounded_reads
from sessions_app.queries.found_rows import FoundTotals, count_found, sessions_with_hits
from sessions_app.queries.session_values import values_in_projects
from sessions_app.rendering.curve import HOT_PCT, Sparkline, draw_sparkline
from sessions_app.search.query import SearchQuery, read_query

PAGE_SIZE = 50
# A line with hits is three or four lines high.
FOUND_PAGE_SIZE = 20
# A statement of a search that takes longer is ended.
SEARCH_MS = 3_000
SPARK_POINTS = 24
MOST_CHOICES = 300
CURSOR_SEPARATOR = "~"


class SessionOrder(StrEnum):
    """What the list is ordered by, always falling."""

    ACTIVITY = "activity"
    OCCUPANCY = "occupancy"
    TOKENS = "tokens"
    ARCHIVED = "archived"


class Period(StrEnum):
    """How far back the last activity may lie."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"

    @property
    def length(self) -> timedelta:
        return timedelta(days={Period.DAY: 1, Period.WEEK: 7, Period.MONTH: 30, Period.YEAR: 365}[self])


@dataclass(frozen=True, slots=True)
class SessionFilters:
    """What the reader asked for; empty and None mean no restriction. after, before: cursors of keyset paging."""

    words: str = ""
    project_slug: str = ""
    source: str = ""
    model: str = ""
    period: Period | None = None
    is_live: bool = False
    has_batch: bool = False
    has_defrag: bool = False
    has_failures: bool = False
    occupancy_over_pct: float | None = None
    order: SessionOrder = SessionOrder.ACTIVITY
    after: str = ""
    before: str = ""

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but order and place was chosen."""
        return replace(self, order=SessionOrder.ACTIVITY, after="", before="") != SessionFilters()


@dataclass(frozen=True, slots=True)
class PassCounts:
    """Committed passes by kind, and failed ones."""

    micro: int
    batch: int
    defrag: int
    prune: int
    failed: int


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One session in the list. opening: its first words, where it has no title. occupancy_pct is None while unknown."""

    session: Session
    opening: str
    tokens: int
    occupancy_pct: float | None
    is_hot: bool
    sparkline: Sparkline | None
    passes: PassCounts
    hits: SessionLineHits | None = None


@dataclass(frozen=True, slots=True)
class SessionListPage:
    """One page. newer, older: cursors of the neighbouring pages, empty at the ends. note: what a search did not do;
    found: what it found, None where there is too much to count or only titles match."""

    lines: tuple[SessionLine, ...]
    newer: str
    older: str
    note: str = ""
    found: FoundTotals | None = None


@dataclass(frozen=True, slots=True)
class SessionTotals:
    """All sessions the reader may see, before any filter."""

    sessions: int
    projects: int
    live: int


@dataclass(frozen=True, slots=True)
class ProjectChoice:
    """A project as a filter offers it."""

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """What the selects of the filters offer: what the visible sessions hold."""

    projects: tuple[ProjectChoice, ...]
    sources: tuple[str, ...]
    models: tuple[str, ...]


def read_session_list(
    visible: QuerySet[Session], filters: SessionFilters, project_ids: Sequence[int] = ()
) -> SessionListPage:
    """The page of `visible` sessions that `filters` describe. A cursor that means nothing starts at the top.

    project_ids: the projects whose rows may be searched.
    """
    if not filters.words:
        return read_page(visible, filters, PAGE_SIZE)
    query = read_query(filters.words)
    if query.problem:
        return replace(read_page(visible.filter(titled_as(query)), filters, PAGE_SIZE), note=query.problem_text)
    try:
        with bounded_reads(SEARCH_MS):
            hits = sessions_with_hits(query, project_ids)
            found = visible.filter(titled(query) | hits.condition)
            totals = count_found(query, narrow(found, filters), project_ids) if hits.can_be_counted else None
            return with_hits(read_page(found, filters, FOUND_PAGE_SIZE), query, totals)
    except TookTooLong:
        return replace(read_page(visible.filter(titled(query)), filters, PAGE_SIZE), note=too_long_note())


def read_page(sessions: QuerySet[Session], filters: SessionFilters, size: int) -> SessionListPage:
    """The page of `sessions` that every filter but the words describes."""
    order = sort_value(filters.order)
    # An annotated column is not a field, which is all that the type of a plain query set knows.
    found: QuerySet[Any] = narrow(sessions.annotate(sort_value=order), filters).select_related("project")
    place = read_cursor(filters.before or filters.after, filters.order)
    if filters.before and place is not None:
        shown = list(beyond(found, place, backwards=True).order_by("sort_value", "id")[: size + 1])
        is_more = len(shown) > size
        return page_of(shown[:size][::-1], filters.order, has_newer=is_more, has_older=True)
    started = found if place is None else beyond(found, place, backwards=False)
    shown = list(started.order_by("-sort_value", "-id")[: size + 1])
    return page_of(shown[:size], filters.order, has_newer=place is not None, has_older=len(shown) > size)


def count_sessions(visible: QuerySet[Session], project_ids: Sequence[int]) -> SessionTotals:
    """Totals for the head of the page, in three queries that each read an index."""
    return SessionTotals(
        sessions=visible.count(),
        projects=Project.objects.filter(
            Exists(Session.objects.filter(project=OuterRef("pk"))), pk__in=project_ids
        ).count(),
        live=visible.filter(status=SessionStatus.LIVE).count(),
    )


def read_filter_choices(project_ids: Sequence[int]) -> FilterChoices:
    """What the filters offer, in three queries; the sessions themselves are not read."""
    has_sessions = Exists(Session.objects.filter(project=OuterRef("pk")))
    projects = Project.objects.filter(has_sessions, pk__in=project_ids).order_by("name").values_list("slug", "name")
    return FilterChoices(
        projects=tuple(ProjectChoice(slug, name) for slug, name in projects[:MOST_CHOICES]),
        sources=values_in_projects("source", project_ids, MOST_CHOICES),
        models=values_in_projects("model", project_ids, MOST_CHOICES),
    )


def sort_value(order: SessionOrder) -> Any:
    """The expression the list is ordered by; unknown occupancy comes last."""
    match order:
        case SessionOrder.ACTIVITY:
            return F("listed_at")
        case SessionOrder.OCCUPANCY:
            return occupancy_to_sort_by()
        case SessionOrder.TOKENS:
            return F("live_tokens")
        case SessionOrder.ARCHIVED:
            return F("archived_rows")


def narrow(sessions: QuerySet[Session], filters: SessionFilters) -> QuerySet[Session]:
    """`sessions` with every filter but the words applied."""
    wanted = Q()
    if filters.project_slug:
        wanted &= Q(project__slug=filters.project_slug)
    if filters.source:
        wanted &= Q(source=filters.source)
    if filters.model:
        wanted &= Q(model=filters.model)
    if filters.is_live:
        wanted &= Q(status=SessionStatus.LIVE)
    if filters.period:
        wanted &= Q(listed_at__gte=timezone.now() - filters.period.length)
    for is_wanted, column in (
        (filters.has_batch, "batch_passes"),
        (filters.has_defrag, "defrag_passes"),
        (filters.has_failures, "failed_passes"),
    ):
        if is_wanted:
            wanted &= Q(**{f"{column}__gt": 0})
    if filters.occupancy_over_pct is None:
        return sessions.filter(wanted)
    return sessions.annotate(share_pct=occupancy_of_session()).filter(wanted, share_pct__gt=filters.occupancy_over_pct)


def beyond(sessions: QuerySet[Any], place: tuple[Any, int], *, backwards: bool) -> QuerySet[Any]:
    """The sessions past a place in the falling order, or before it."""
    value, last_id = place
    sign = "gt" if backwards else "lt"
    past = Q(**{f"sort_value__{sign}": value}) | Q(sort_value=value, **{f"id__{sign}": last_id})
    return sessions.filter(past)


def cursor_of(session: Session) -> str:
    value = session.sort_value  # type: ignore[attr-defined]  # annotated by read_session_list
    return f"{value.isoformat() if isinstance(value, datetime) else value}{CURSOR_SEPARATOR}{session.pk}"


def read_cursor(text: str, order: SessionOrder) -> tuple[Any, int] | None:
    """The place a cursor names, or None when it is none for this order."""
    value, _, last_id = text.rpartition(CURSOR_SEPARATOR)
    try:
        match order:
            case SessionOrder.ACTIVITY:
                moment = datetime.fromisoformat(value)
                return (moment, int(last_id)) if moment.tzinfo else None
            case SessionOrder.OCCUPANCY:
                return float(value), int(last_id)
            case _:
                return int(value), int(last_id)
    except ValueError:
        return None


OPENINGS_QUERY = """
SELECT session.id, opening.text FROM unnest(%(ids)s::bigint[]) AS session(id)
CROSS JOIN LATERAL (
    SELECT left(content, 200) AS text FROM sessions_app_messagerow
    WHERE session_id = session.id AND role = 'user' AND content IS NOT NULL ORDER BY position, id LIMIT 1
) AS opening
"""


def read_openings(session_ids: Iterable[int]) -> dict[int, str]:
    """The first words that a user said, in one line, by session."""
    ids = list(session_ids)
    if not ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(OPENINGS_QUERY, {"ids": ids})
        return {session_id: " ".join(text.split()) for session_id, text in cursor.fetchall()}


def page_of(sessions: Sequence[Session], order: SessionOrder, *, has_newer: bool, has_older: bool) -> SessionListPage:
    sparklines = read_sparklines(sessions)
    openings = read_openings(session.pk for session in sessions if not session.title)
    lines = tuple(line_of(one, openings.get(one.pk, ""), sparklines.get(one.pk)) for one in sessions)
    newer = cursor_of(sessions[0]) if sessions and has_newer else ""
    older = cursor_of(sessions[-1]) if sessions and has_older else ""
    return SessionListPage(lines, newer, older)


def with_hits(page: SessionListPage, query: SearchQuery, found: FoundTotals | None) -> SessionListPage:
    """The page with what was found in the rows of its sessions."""
    hits = read_session_hits(query, [line.session.pk for line in page.lines])
    lines = tuple(replace(line, hits=hits.get(line.session.pk)) for line in page.lines)
    return replace(page, lines=lines, found=found)


def line_of(session: Session, opening: str, sparkline: Sparkline | None) -> SessionLine:
    share = occupancy_pct(session.live_tokens, session.threshold_tokens, session.fixed_overhead_tokens or 0)
    return SessionLine(
        session=session,
        opening=opening,
        tokens=session.live_tokens + (session.fixed_overhead_tokens or 0),
        occupancy_pct=share,
        is_hot=share is not None and share >= HOT_PCT,
        sparkline=sparkline,
        passes=PassCounts(
            micro=session.micro_passes,
            batch=session.batch_passes,
            defrag=session.defrag_passes,
            prune=session.prune_passes,
            failed=session.failed_passes,
        ),
    )


# A handful of events spread evenly over each session, each found by index.
SPARK_QUERY = """
SELECT session.id, event.live_tokens, event.threshold_tokens, session.fixed_overhead_tokens
FROM sessions_app_session AS session
CROSS JOIN generate_series(0, %(last_point)s) AS point
CROSS JOIN LATERAL (
    SELECT live_tokens, threshold_tokens FROM sessions_app_sessionevent
    WHERE session_id = session.id AND seq <= 1 + (session.last_seq - 1) * point / %(last_point)s
    ORDER BY seq DESC LIMIT 1
) AS event
WHERE session.id = ANY(%(ids)s)
ORDER BY session.id, point
"""


def read_sparklines(sessions: Iterable[Session]) -> dict[int, Sparkline | None]:
    """The sparklines of these sessions, by their ids, in one query of a fixed number of index look-ups."""
    ids = [session.pk for session in sessions]
    if not ids:
        return {}
    shares: dict[int, list[float | None]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(SPARK_QUERY, {"last_point": SPARK_POINTS - 1, "ids": ids})
        for session_id, live_tokens, threshold_tokens, overhead_tokens in cursor.fetchall():
            shares[session_id].append(occupancy_pct(live_tokens, threshold_tokens, overhead_tokens or 0))
    return {session_id: draw_sparkline(points) for session_id, points in shares.items()}
