"""What happened in a session after an event: rows to append to a page that is open, or that more changed than that."""

from __future__ import annotations

from dataclasses import dataclass

from compaction.messages import Role
from sessions_app.models import EventKind, Session, SessionEvent, Turn
from sessions_app.pages.flow import RowItem
from sessions_app.pages.outlook import Outlook
from sessions_app.pages.row_source import SourceRow, read_rows
from sessions_app.pages.row_view import view_rows
from sessions_app.pages.walk import flow_rows

MOST_ROWS = 200
MOST_EVENTS = 1_000
# Events that only add rows or change nothing the transcript shows.
PLAIN_KINDS = frozenset(
    {EventKind.APPENDED, EventKind.TURN_FINISHED, EventKind.HELD, EventKind.RESUMED, EventKind.FAILED}
)


@dataclass(frozen=True, slots=True)
class Updates:
    """The catch-up from one event to `seq`.

    items: the new rows, and in front of them rows that the page has and must replace: the one whose calls they answer,
    the one after which the turn was broken off.
    is_plain: whether appending them is all there is to do; otherwise the page reads its rows anew.
    """

    seq: int
    items: tuple[RowItem, ...]
    is_plain: bool


def read_updates(session: Session, after_seq: int, outlook: Outlook) -> Updates:
    """What a page that has seen everything up to `after_seq` lacks. One that has seen more than there is, because the
    data came back from a copy, and one that is very far behind lack everything."""
    if not 0 <= session.last_seq - after_seq <= MOST_EVENTS:
        return Updates(session.last_seq, (), False)
    kinds = set(
        SessionEvent.objects.filter(session_id=session.pk, seq__gt=after_seq).values_list("kind", flat=True).distinct()
    )
    rows = flow_rows(session, live_only=True)
    new = read_rows(rows.filter(born_seq__gt=after_seq).order_by("position", "id")[: MOST_ROWS + 1])
    is_plain = kinds <= PLAIN_KINDS and len(new) <= MOST_ROWS
    if not is_plain:
        return Updates(session.last_seq, (), False)
    broken_off = broken_off_row(session, new) if EventKind.TURN_FINISHED in kinds else []
    shown = [*broken_off, *answered_rows(session, new), *new]
    return Updates(
        session.last_seq, tuple(RowItem(view, outlook.zone_of(view.row.key)) for view in view_rows(shown)), True
    )


def broken_off_row(session: Session, new: list[SourceRow]) -> list[SourceRow]:
    """The last row of the newest turn if that was broken off: the page has the row, which now has to say so."""
    turn = Turn.objects.filter(session_id=session.pk, number=session.turns_total, interrupted=True).first()
    if turn is None or any(row.position == turn.last_position for row in new):
        return []
    row = read_rows(flow_rows(session, live_only=True).filter(position=turn.last_position).order_by("id")[:1])
    return [one for one in row if one.role is not Role.TOOL]


def answered_rows(session: Session, new: list[SourceRow]) -> list[SourceRow]:
    """If the first new row is a tool's result: the row that asked, and the results behind it that are there already."""
    if not new or new[0].role is not Role.TOOL:
        return []
    before = flow_rows(session, live_only=True).filter(position__lt=new[0].position).order_by("-position", "-id")
    found: list[SourceRow] = []
    for row in read_rows(before[:60]):
        found.append(row)
        if row.role is not Role.TOOL:
            break
    return found[::-1]
