"""What must be true of stored sessions after any faults. Each check yields sentences about what is not.

Reads the database through the site's own models; writes nothing. Django has to be set up before this is imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from django.db import connection

from compaction.messages import RowKey
from sessions_app.mapping import message_of, state_of
from sessions_app.models import CompactionPass, MessageRow, PassKind, Session, SessionEvent, Turn
from sessions_app.queries.moments import row_ids_as_of
from sessions_app.queries.totals import counted, recounted
from sessions_app.services import NewMessage


def broken_laws(session: Session) -> Iterator[str]:
    """Everything about the session that should not be."""
    for check in (counters, positions, live_context, passes, events, engine_state, turns):
        for broken in check(session):
            yield f"{session.foreign_id}: {broken}"


def sent_rows(session: Session, sent: Sequence[NewMessage]) -> Iterator[str]:
    """Rows that are missing, twice, in the wrong place, or not what was sent."""
    stored = list(MessageRow.objects.filter(session=session, kind="message").order_by("position", "id"))
    ids = [row.foreign_id for row in stored]
    if ids != [row.client_id for row in sent]:
        lost = {row.client_id for row in sent} - set(ids)
        twice = [name for name, count in Counter(ids).items() if count > 1]
        yield f"{len(ids)} rows stored of {len(sent)} sent; lost: {sorted(map(str, lost))[:5]}, twice: {twice[:5]}"
        return
    for row, new in zip(stored, sent, strict=True):
        if message_of(row) != new.message:
            yield f"{row.foreign_id} is not what was sent"


def counters(session: Session) -> Iterator[str]:
    """The session's totals are those of its rows."""
    kept, real = counted(session), recounted(session.pk)
    yield from (f"{name} is {kept[name]}, its rows say {real[name]}" for name in kept if kept[name] != real[name])


def positions(session: Session) -> Iterator[str]:
    """Appended rows stand one after the other, each position once."""
    appended = MessageRow.objects.filter(session=session, kind="message")
    found = list(appended.order_by("position").values_list("position", flat=True))
    if found != list(range(session.next_position)):
        yield f"positions are not 0 to {session.next_position - 1}: {len(found)} rows"


def live_context(session: Session) -> Iterator[str]:
    """One live row a position, at most one live micro summary, and the moment of the newest event is now."""
    live = list(MessageRow.objects.filter(session=session, died_seq__isnull=True).order_by("position", "id"))
    if len({row.position for row in live}) != len(live):
        yield "two live rows share a position"
    if sum(row.kind == "micro_summary" for row in live) > 1:
        yield "more than one micro summary is live"
    if row_ids_as_of(session.pk, session.last_seq) != tuple(row.pk for row in live):
        yield "the live rows are not those as of the newest event"


def passes(session: Session) -> Iterator[str]:
    """A committed pass did what it says, no row was absorbed by two, and a pass that was not committed did nothing."""
    absorbed: Counter[int] = Counter()
    rows = MessageRow.objects.filter(session=session)
    for done in CompactionPass.objects.filter(session=session).order_by("number"):
        stamped = set(rows.filter(archived_by=done).values_list("pk", flat=True))
        made = set(rows.filter(made_by=done).values_list("pk", flat=True))
        edit = done.edit or {"archived": [], "superseded": [], "inserted": []}
        if done.committed and done.undone_seq is None:
            absorbed.update(edit["archived"])
            if stamped != {*edit["archived"], *edit["superseded"]}:
                yield f"pass {done.number} stamped other rows than it names"
            if made != {one["id"] for one in edit["inserted"]}:
                yield f"pass {done.number} inserted other rows than it names"
        elif not done.committed and (stamped or made):
            yield f"pass {done.number} ({done.outcome}) was not committed and changed rows"
    yield from (f"row {row} was absorbed by {count} passes" for row, count in absorbed.items() if count > 1)
    # Nothing is rewound or reset in these sessions.
    if gone := rows.filter(died_seq__isnull=False, archived_by__isnull=True).count():
        yield f"{gone} rows left the live context without a pass"


def events(session: Session) -> Iterator[str]:
    """Events are numbered without gaps, and every pass has its own."""
    seqs = list(SessionEvent.objects.filter(session=session).order_by("seq").values_list("seq", flat=True))
    if seqs != list(range(1, session.last_seq + 1)):
        yield f"events are not 1 to {session.last_seq}: {len(seqs)} of them"
    if CompactionPass.objects.filter(session=session).count() != session.passes_total:
        yield f"passes_total is {session.passes_total}, which is not the number of passes"


def engine_state(session: Session) -> Iterator[str]:
    """The engine's memory is that of the newest committed pass: its text is in the live summary, its cursor behind all
    that micro passes absorbed since the last batch."""
    state = state_of(session.state)
    summary = MessageRow.objects.filter(session=session, kind="micro_summary", died_seq__isnull=True).first()
    if summary is None:
        return
    if state.rolling_summary not in (summary.content or ""):
        yield "the running summary is not the one that is live"
    by_micro = MessageRow.objects.filter(session=session, kind="message", archived_by__kind=PassKind.MICRO)
    newest = by_micro.order_by("-position", "-id").values_list("position", "id").first()
    if newest is not None and (state.cursor is None or state.cursor <= RowKey(*newest)):
        yield "the cursor is not behind the rows that were absorbed"


def turns(session: Session) -> Iterator[str]:
    """Every turn whose reply was sent is over."""
    numbers = list(Turn.objects.filter(session=session).order_by("number").values_list("number", flat=True))
    if numbers != list(range(1, session.turns_total + 1)):
        yield f"turns are not 1 to {session.turns_total}"
    stuck = Turn.objects.filter(session=session, reply_sent_at__isnull=False, ended_at__isnull=True)
    if stuck.exists():
        yield f"turns that never end: {list(stuck.values_list('number', flat=True))[:10]}"


def open_jobs() -> int:
    """Jobs that wait or run, without the periodic ones."""
    with connection.cursor() as cursor:
        # Only periodic jobs have a lock against being queued twice.
        cursor.execute(
            "select count(*) from procrastinate_jobs where status in ('todo', 'doing') and queueing_lock is null"
        )
        (count,) = cursor.fetchone()
    return int(count)


def open_turns() -> int:
    """Turns whose end is still to come."""
    return Turn.objects.filter(reply_sent_at__isnull=False, ended_at__isnull=True).count()
