"""Branching a session: a new one that begins with what the model saw at some event of another.

The rows are copies, live summaries among them, so the branch knows what its parent knew and goes on by itself: the
engine starts from the newest summary row. Nothing is shared; either can be deleted without the other. What the parent
had archived stays with the parent, to which the branch points.
"""

from __future__ import annotations

from typing import Final

from django.db import connection, transaction

from compaction.errors import InvalidInput
from compaction.messages import RowKind
from compaction.storable import storable_text
from sessions_app import clock
from sessions_app.mapping import message_of
from sessions_app.models import EventKind, MessageRow, Session, SessionStatus, Turn, TurnStep
from sessions_app.queries.moments import as_of_sql, row_ids_as_of
from sessions_app.queries.totals import recounted
from sessions_app.services.lifecycle import new_public_id
from sessions_app.services.locking import event_at, lock_session, save_locked, tell
from sessions_app.services.row_words import copy_words
from sessions_app.services.thresholds import set_threshold
from sessions_app.turn_tracking import is_answer

BRANCH: Final = "branch"
# The branch's own: its key and session, its time of birth, and links that would lead back into the parent.
_OWN_COLUMNS: Final = frozenset(
    {"id", "session_id", "born_seq", "died_seq", "made_by_id", "archived_by_id", "replaces_id"}
)
_COPIED_COLUMNS: Final = tuple(
    column
    for column in (field.column for field in MessageRow._meta.concrete_fields)
    if column is not None and column not in _OWN_COLUMNS
)


def branch_session(session_id: int, seq: int, title: str | None = None) -> Session:
    """A hosted session with the rows that were live right after event `seq` of another, in the same project.

    title: None takes the parent's. Raises Session.DoesNotExist, and InvalidInput when the parent has no such event.
    """
    with transaction.atomic():
        parent = lock_session(session_id)
        if not 1 <= seq <= parent.last_seq:
            raise InvalidInput(f"the session has events 1 to {parent.last_seq:,}, not {seq:,}", "seq")
        branch = _new_session(parent, parent.title if title is None else title)
        branch.last_seq = 1
        _copy_rows(parent, branch, seq)
        copy_words(parent, branch, seq)
        _describe(parent, branch, seq)
        tell(branch, EventKind.APPENDED)
    return branch


def _new_session(parent: Session, title: str) -> Session:
    public_id, now = new_public_id(), clock.now()
    branch = Session(
        project=parent.project,
        public_id=public_id,
        foreign_id=public_id,
        title=storable_text(title),
        source=Session.HOSTED,
        model=parent.model,
        window_tokens=parent.window_tokens,
        fixed_overhead_tokens=parent.fixed_overhead_tokens,
        policy_settings=parent.policy_settings,
        started_at=now,
        listed_at=now,
        status=SessionStatus.IDLE,
        parent=parent,
        parent_link=BRANCH,
    )
    set_threshold(branch)
    branch.save(force_insert=True)
    return branch


def _copy_rows(parent: Session, branch: Session, seq: int) -> None:
    """One statement, so that it copies one moment whatever else happens; ids follow the order of the rows."""
    columns = ", ".join(_COPIED_COLUMNS)
    statement = (
        f"INSERT INTO sessions_app_messagerow (session_id, born_seq, {columns}) "
        f"SELECT %(branch)s, 1, {columns} FROM ({as_of_sql(('id', *_COPIED_COLUMNS))}) AS seen ORDER BY position, id"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, {"branch": branch.pk, "session": parent.pk, "seq": seq})


def _describe(parent: Session, branch: Session, seq: int) -> None:
    """Everything that follows from the rows: counters, turns, the event of their birth, and where they came from."""
    rows = MessageRow.objects.filter(session_id=branch.pk)
    for column, total in recounted(branch.pk).items():
        setattr(branch, column, total)
    first, last = rows.order_by("position").first(), rows.order_by("-position").first()
    if first is not None and last is not None:
        branch.next_position = last.position + 1
        branch.parent_row_id = row_ids_as_of(parent.pk, seq)[-1]
    branch.turns_total = _copy_turns(parent, branch)
    event = event_at(
        branch,
        1,
        EventKind.APPENDED,
        at=clock.now(),
        first_position=None if first is None else first.position,
        last_position=None if last is None else last.position,
    )
    event.save(force_insert=True)
    save_locked(branch, "parent_row")


def _copy_turns(parent: Session, branch: Session) -> int:
    """Turns of which rows came along; returns the number of the last one, 0 when there is none.

    They are over, and no pass comes after them. Only the last one may go on: it ends where the rows end.
    """
    messages = MessageRow.objects.filter(session_id=branch.pk, kind=RowKind.MESSAGE.value, turn__isnull=False)
    numbers = messages.order_by("turn").values_list("turn", flat=True).distinct()
    turns = list(Turn.objects.filter(session_id=parent.pk, number__in=list(numbers)).order_by("number"))
    newest = messages.order_by("-position").first()
    for turn in turns:
        turn.pk, turn.session_id, turn.step_done = None, branch.pk, TurnStep.PRUNE.value
        turn.ended_at = turn.ended_at or turn.reply_sent_at
    if turns and newest is not None and newest.position < turns[-1].last_position:
        _cut(turns[-1], newest)
    Turn.objects.bulk_create(turns)
    return turns[-1].number if turns else 0


def _cut(turn: Turn, newest: MessageRow) -> None:
    """The last turn as it was when `newest` was its newest row: its reply had not been sent."""
    turn.last_position = newest.position
    turn.is_finished = is_answer(message_of(newest))
    turn.reply_sent_at = turn.finalizing_at = turn.ended_at = None
    turn.interrupted, turn.step_done = False, TurnStep.NONE.value
