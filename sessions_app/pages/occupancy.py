"""Occupancy over the events of a session: points for the charts, rows for the table and the CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import connection
from django.urls import reverse
from django.utils.translation import gettext as _

from compaction.threshold import occupancy_pct
from sessions_app.models import CompactionPass, Session, SessionEvent
from sessions_app.pages.pass_words import icon_of, is_failed, outcome_words
from sessions_app.pages.replay_steps import first_step
from sessions_app.pages.setting_marks import SettingsChange, settings_mark
from sessions_app.queries.snapshot import Snapshot
from sessions_app.rendering.addresses import step_address
from sessions_app.rendering.curve import Curve, Point, draw_curve, thin_out
from sessions_app.rendering.rail import Mark, lay_out

MOST_POINTS = 600
MOST_MARKS = 300
# So many stand beside each other on the rail of a chart.
MOST_RAIL_MARKS = 100
# What a chart beside the transcript, a third as wide as the page, can show.
MOST_SMALL_POINTS = 300
MOST_SERIES_POINTS = 4_000
EVENTS_A_PAGE = 60

# Events spread evenly over the session, and those of passes (of very many passes, evenly chosen ones), each with the
# event before it. Every one is found by index, so a chart costs the same for any number of events.
POINTS_QUERY = """
WITH wanted AS (
    SELECT 1 + (%(last)s - 1) * n / %(most)s AS seq FROM generate_series(0, %(most)s) AS n
    UNION SELECT seq - before FROM sessions_app_compactionpass, generate_series(0, 1) AS before
    WHERE session_id = %(session)s AND number = ANY(%(numbers)s)
)
SELECT DISTINCT event.seq, event.live_tokens, event.threshold_tokens FROM wanted
CROSS JOIN LATERAL (
    SELECT seq, live_tokens, threshold_tokens FROM sessions_app_sessionevent
    WHERE session_id = %(session)s AND seq <= wanted.seq ORDER BY seq DESC LIMIT 1
) AS event ORDER BY event.seq
"""


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the grid. down_pct: its place from the top; is_threshold: it is the line of 100 %."""

    words: str
    down_pct: float
    is_threshold: bool = False


@dataclass(frozen=True, slots=True)
class OccupancyChart:
    """What a chart of a session draws: shares of the threshold, or tokens where no threshold is known at all.

    threshold_tokens: that of the newest event. is_threshold_moved: some earlier events had another one, so the line of
    100 % stands for more than one number.
    """

    curve: Curve
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    threshold_tokens: int | None
    is_threshold_moved: bool
    is_in_tokens: bool
    has_unknown: bool
    has_changes: bool = False


# Seq, live tokens and threshold of an event.
Total = tuple[int, int, int | None]


def curve_points(session: Session, found: Sequence[Total]) -> tuple[tuple[Point, ...], bool]:
    """Points to draw, and whether they are tokens: without any known share the growth itself is still a fact."""
    overhead = session.fixed_overhead_tokens or 0
    if any(threshold for _, _, threshold in found) or not found:
        return tuple(Point(seq, occupancy_pct(live, limit, overhead)) for seq, live, limit in found), False
    return tuple(Point(seq, float(live + overhead)) for seq, live, _ in found), True


def newest_threshold(found: Sequence[Total]) -> tuple[int | None, bool]:
    """The threshold of the newest event, and whether an earlier event had another one."""
    newest = found[-1][2] if found else None
    return newest, any(limit not in (None, newest) for _, _, limit in found)


def read_totals(session: Session, most: int) -> list[Total]:
    """About `most` events in order, and those of a third as many passes with the event before each."""
    passes, chosen = session.passes_total, most // 3
    is_chosen = passes > chosen
    numbers = {1 + (passes - 1) * n // chosen for n in range(chosen + 1)} if is_chosen else range(1, passes + 1)
    asked = {"session": session.pk, "last": session.last_seq, "most": min(most, max(session.last_seq - 1, 1))}
    with connection.cursor() as cursor:
        cursor.execute(POINTS_QUERY, asked | {"numbers": sorted(numbers)})
        found: list[Total] = cursor.fetchall()
    return found


def read_chart(session: Session, changes: Sequence[SettingsChange] = ()) -> OccupancyChart:
    """The occupancy chart with its rail of passes. changes: of settings, marked beside them."""
    passes = read_marked_passes(session, MOST_RAIL_MARKS)
    return draw_chart(session, read_totals(session, MOST_POINTS), passes, changes)


def read_small_chart(session: Session, passes: Sequence[CompactionPass]) -> OccupancyChart:
    """The chart as it stands beside other things, with the marks of `passes`, which are in order."""
    return draw_chart(session, read_totals(session, MOST_SMALL_POINTS), passes)


def draw_chart(
    session: Session, found: Sequence[Total], passes: Sequence[CompactionPass], changes: Sequence[SettingsChange] = ()
) -> OccupancyChart:
    """The chart of events that were read."""
    every_point, is_in_tokens = curve_points(session, found)
    points = thin_out(every_point)
    curve = draw_curve(points, None if is_in_tokens else share_top(points))
    marked = [mark_of(session, curve, one) for one in passes]
    marked += [settings_mark(curve, change) for change in changes]
    marks = lay_out(sorted(marked, key=lambda mark: mark.place_pct))
    ticks = token_ticks(curve) if is_in_tokens else share_ticks(curve)
    unknown = any(point.pct is None for point in points)
    return OccupancyChart(curve, marks, ticks, *newest_threshold(found), is_in_tokens, unknown, bool(changes))


def share_top(points: Sequence[Point]) -> float:
    """The share at the top of a chart: the threshold is always on it."""
    highest = max((point.pct for point in points if point.pct is not None), default=0.0)
    return max(112.0, highest * 1.08)


def share_ticks(curve: Curve) -> tuple[Tick, ...]:
    """The threshold, zero, and quarters between them while there is room."""
    quarters = (25, 50, 75) if curve.top_pct < 200 else ()
    shares = (0, *quarters, 100)
    return tuple(Tick(str(share), curve.down_pct(share), share == 100) for share in shares)


def token_ticks(curve: Curve) -> tuple[Tick, ...]:
    """Zero, and up to four round numbers of tokens."""
    rough = curve.top_pct / 4
    unit = 10 ** max(0, len(str(int(rough))) - 1)
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
    return tuple(Tick(short_count(n * step), curve.down_pct(n * step)) for n in range(int(curve.top_pct // step) + 1))


def short_count(tokens: int) -> str:
    if tokens >= 1_000_000 and tokens % 100_000 == 0:
        return f"{tokens / 1_000_000:g}M"
    return f"{tokens // 1000}k" if tokens >= 1_000 and tokens % 1_000 == 0 else str(tokens)


def read_marked_passes(session: Session, most: int = MOST_MARKS) -> list[CompactionPass]:
    """The passes a rail marks; of very many only the newest."""
    passes = CompactionPass.objects.filter(session_id=session.pk).only(
        "id",
        "session_id",
        "number",
        "kind",
        "origin",
        "outcome",
        "reason",
        "seq",
        "committed",
        "undone_seq",
        "tokens_before",
        "tokens_after",
    )
    return list(reversed(passes.order_by("-number")[:most]))


def mark_of(session: Session, curve: Curve, made_by: CompactionPass) -> Mark:
    """A pass as a mark that leads to its replay."""
    return Mark(
        number=made_by.number,
        icon=icon_of(made_by),
        words=_("Pass {}: {}").format(made_by.number, outcome_words(made_by)),
        href=step_address(session.public_id, made_by.number, first_step(made_by)),
        place_pct=curve.left_pct(made_by.seq),
        shown_pct=curve.left_pct(made_by.seq),
        is_failed=is_failed(made_by),
    )


def every_event(session: Session) -> Iterator[SessionEvent]:
    """All events up to now in order, read a batch at a time."""
    return Snapshot(session).events()


def read_series(session: Session) -> dict[str, object]:
    """What the browser's chart draws, ready for JSON: seqs, shares with null for unknown, tokens, and the passes."""
    found = read_totals(session, MOST_SERIES_POINTS)
    overhead = session.fixed_overhead_tokens or 0
    passes = read_marked_passes(session)
    newest, is_moved = newest_threshold(found)
    return {
        "seqs": [seq for seq, _, _ in found],
        "shares": [occupancy_pct(live, limit, overhead) for _, live, limit in found],
        "tokens": [live + overhead for _, live, _ in found],
        "threshold": newest,
        "is_threshold_moved": is_moved,
        "passes": [
            {
                "seq": one.seq,
                "number": one.number,
                "icon": icon_of(one),
                "words": outcome_words(one),
                "href": step_address(session.public_id, one.number, first_step(one)),
            }
            for one in passes
        ],
        "session": reverse("session", args=[session.public_id]),
    }


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event of the table."""

    event: SessionEvent
    tokens: int
    occupancy_pct: float | None


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events, newest first. older: the seq to go on before, None at the end."""

    lines: tuple[EventLine, ...]
    older: int | None


def read_event_page(session: Session, before_seq: int | None) -> EventPage:
    """A page of the table of events."""
    events = SessionEvent.objects.filter(session_id=session.pk).select_related("compaction_pass").order_by("-seq")
    if before_seq is not None:
        events = events.filter(seq__lt=before_seq)
    found = list(events[: EVENTS_A_PAGE + 1])
    overhead = session.fixed_overhead_tokens or 0
    lines = tuple(
        EventLine(one, one.live_tokens + overhead, occupancy_pct(one.live_tokens, one.threshold_tokens, overhead))
        for one in found[:EVENTS_A_PAGE]
    )
    return EventPage(lines, lines[-1].event.seq if len(found) > EVENTS_A_PAGE else None)
