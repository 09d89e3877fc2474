"""The head of every page of a session: facts, gauge, what happens next, and the tabs' figures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from compaction.messages import RowKind
from compaction.threshold import occupancy_pct
from sessions_app.models import MessageRow, Session, SessionStatus
from sessions_app.pages.forecast import Sentence, read_forecast, threshold_words
from sessions_app.pages.outlook import Outlook, read_outlook
from sessions_app.pages.plays import PlayBar, read_play
from sessions_app.queries.head_facts import read_head_facts
from sessions_app.rendering.gauge import Gauge, Zone, draw_gauge
from sessions_app.stored_transcript import StoredTranscript


class Activity(StrEnum):
    """What goes on in a session right now."""

    TURN_RUNS = "turn"
    PASS_RUNS = "pass"
    IDLE = "idle"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class SessionHead:
    """What the head shows.

    rows_total: everything the transcript lists, archived and rewound rows too; rows_live and rows_archived: how many
    of them its filters list. Summaries stand between the rows and are not counted there. A stub and the row that was
    pruned for it are one: live_stubs counts those that are live. play: what fills the session, if a play does.
    """

    session: Session
    outlook: Outlook
    gauge: Gauge
    forecast: tuple[Sentence, ...]
    threshold_words: str
    policy_number: int | None
    summary_number: int | None
    rows_total: int
    rows_live: int
    rows_archived: int
    live_stubs: int
    activity: Activity
    running_turn: int
    play: PlayBar | None


def read_head(session: Session) -> SessionHead:
    """The head as the session is now. `session` comes with its project."""
    transcript = StoredTranscript(session)
    outlook = read_outlook(session, transcript)
    facts = read_head_facts(session)
    stubs = live_stubs(session)
    rows_live, rows_archived = session.live_rows - session.summary_rows, session.archived_rows - stubs
    return SessionHead(
        session=session,
        outlook=outlook,
        gauge=gauge_of(session, outlook),
        forecast=read_forecast(session, outlook),
        threshold_words=threshold_words(outlook),
        policy_number=facts.policy_number,
        summary_number=facts.summary_number,
        rows_total=rows_live + rows_archived + session.rewound_rows,
        rows_live=rows_live,
        rows_archived=rows_archived,
        live_stubs=stubs,
        activity=activity_of(session, facts.is_finalizing),
        running_turn=session.turns_total,
        play=read_play(session),
    )


def live_stubs(session: Session) -> int:
    """How many live rows stand for rows that were pruned."""
    if not session.prune_passes:
        return 0
    stubs = MessageRow.objects.filter(session_id=session.pk, replaces__isnull=False, kind=RowKind.PRUNE_STUB.value)
    return stubs.filter(died_seq__isnull=True).count()


def activity_of(session: Session, is_finalizing: bool) -> Activity:
    """What goes on, by the session's status and whether the end of its newest turn is being worked at."""
    if session.status == SessionStatus.ENDED:
        return Activity.ENDED
    if is_finalizing:
        return Activity.PASS_RUNS
    return Activity.TURN_RUNS if session.status == SessionStatus.LIVE else Activity.IDLE


def gauge_of(session: Session, outlook: Outlook) -> Gauge:
    """The gauge by zones, or by what the rows are where zones can't be told."""
    zones, overhead, summary = outlook.zones, session.fixed_overhead_tokens or 0, session.summary_tokens
    if zones is None:
        parts: tuple[tuple[Zone, int], ...] = (
            (Zone.OVERHEAD, overhead),
            (Zone.SUMMARY, summary),
            (Zone.TAIL, session.live_tokens - summary),
        )
    else:
        parts = (
            (Zone.OVERHEAD, overhead),
            (Zone.HEAD, zones.head_tokens),
            (Zone.SUMMARY, summary),
            (Zone.MIDDLE, max(zones.middle_tokens - summary, 0)),
            (Zone.TAIL, zones.tail_tokens),
        )
    threshold = outlook.threshold.tokens
    share = occupancy_pct(session.live_tokens, threshold, overhead)
    return draw_gauge(parts, threshold, outlook.window.context_tokens, share)
