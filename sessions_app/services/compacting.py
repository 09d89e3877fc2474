"""Committing a pass: edit, state, record, summary version and event in one short transaction, or nothing.

Must not plan, settle or ask. The pass was planned on a `compaction_revision` without any lock; if that revision is no
longer the session's, another pass, an undo or a rewind came first, and this one is `Stale` and leaves no trace. Rows
that were appended meanwhile don't matter: an edit names its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection, transaction

from compaction.edits import Edit, NewRow
from compaction.messages import Role, RowKind
from compaction.records import PassRecord
from compaction.state import CompactionState
from sessions_app import clock
from sessions_app.counters import Counters
from sessions_app.mapping import edit_json, new_message_row, state_json, storable_json
from sessions_app.models import (
    CompactionPass,
    EventKind,
    MessageRow,
    PassKind,
    PassOrigin,
    Session,
    SummaryKind,
    SummaryRevision,
    TurnStep,
)
from sessions_app.pass_facts import fill_facts
from sessions_app.queries.pass_places import STANDING_KINDS, place_of
from sessions_app.services.calls import CallMade, record_calls
from sessions_app.services.locking import event_at, lock_session, save_locked, tell
from sessions_app.services.row_words import index_rows
from sessions_app.services.turns import is_step_done, take_step


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the engine does not know of a pass it settled.

    trigger: turn, threshold, request or manual. token_counter: name of the counter behind the inserted rows' tokens.
    telemetry: the content-free fields of the log line. turn: number of the turn after which it ran, and step: the step
    of that turn's end which is done with it. calls: what the pass asked of models. request_id: names a pass that a
    person asked for; only one of a session can have it.
    """

    token_counter: str
    trigger: str | None = None
    started_at: datetime | None = None
    policy_revision_id: int | None = None
    session_policy_revision_id: int | None = None
    threshold_source: str | None = None
    turn: int | None = None
    step: TurnStep = TurnStep.NONE
    telemetry: Mapping[str, Any] | None = None
    cache_estimate: Mapping[str, Any] | None = None
    calls: tuple[CallMade, ...] = ()
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """The pass is stored. revision: the session's new compaction revision; row_ids: the inserted rows."""

    pass_id: int
    number: int
    seq: int
    revision: int
    row_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stale:
    """Somebody else changed the live context, or did this step of the turn's end, first. Nothing of the pass was
    stored but the calls it made.

    is_done: the step was done by somebody else, so nothing is left to plan; else planning again makes sense.
    """

    expected_revision: int
    found_revision: int
    is_done: bool = False


def archive_and_compact(
    session_id: int,
    *,
    edit: Edit,
    state: CompactionState,
    record: PassRecord,
    expected_revision: int,
    circumstances: Circumstances,
) -> Committed | Stale:
    """Store a settled pass. An empty edit stores the record and the state of a pass that changed no row.

    Raises ValueError when the edit names a row that is not live although the revision is right: it was made for
    another session.
    """
    with transaction.atomic():
        session = lock_session(session_id)
        is_overtaken = session.compaction_revision != expected_revision
        if is_overtaken or not _take_step(session, circumstances):
            record_calls(session_id, circumstances.calls)
            is_done = not is_overtaken or is_step_done(session_id, circumstances.turn, circumstances.step)
            return Stale(expected_revision, session.compaction_revision, is_done)
        made = _new_pass(session, record, edit, circumstances)
        _archive(session, edit, made)
        rows = _insert(session, edit.inserted, made, circumstances.token_counter)
        _finish_pass(session, made, edit, rows)
        _save_summaries(session, made, edit, rows, record)
        session.state = state_json(state)
        _count_pass(session, record)
        save_locked(session, "state", "passes_total", "failed_passes", *_PASS_COLUMNS.values())
        record_calls(session_id, circumstances.calls, made)
        tell(session, EventKind.PASS, (*edit.archived, *edit.superseded, *(row.pk for row in rows)))
    return Committed(made.pk, made.number, made.seq, session.compaction_revision, tuple(row.pk for row in rows))


def _take_step(session: Session, circumstances: Circumstances) -> bool:
    """Mark the step as done; False when it was done before."""
    if circumstances.turn is None or circumstances.step == TurnStep.NONE:
        return True
    return take_step(session.pk, circumstances.turn, circumstances.step)


def store_state(
    session_id: int,
    state: CompactionState,
    expected_revision: int,
    turn_number: int | None = None,
    step: TurnStep = TurnStep.MICRO,
) -> Stale | None:
    """Store a state that changed without a pass, and that this step of the end of the turn which changed it is done."""
    with transaction.atomic():
        session = lock_session(session_id)
        is_overtaken = session.compaction_revision != expected_revision
        if is_overtaken or (turn_number is not None and not take_step(session_id, turn_number, step)):
            is_done = not is_overtaken or is_step_done(session_id, turn_number, step)
            return Stale(expected_revision, session.compaction_revision, is_done)
        session.state = state_json(state)
        save_locked(session, "state")
    return None


_PASS_COLUMNS = {
    PassKind.MICRO: "micro_passes",
    PassKind.DEFRAG: "defrag_passes",
    PassKind.BATCH: "batch_passes",
    PassKind.PRUNE: "prune_passes",
}


def _new_pass(session: Session, record: PassRecord, edit: Edit, circumstances: Circumstances) -> CompactionPass:
    """The unsaved pass. It has its id already, because the rows it takes out and makes name it, and is written once,
    when all of it is known."""
    session.last_seq += 1
    made = CompactionPass(
        pk=_reserved_pass_id(),
        session=session,
        number=session.passes_total + 1,
        origin=PassOrigin.ENGINE,
        seq=session.last_seq,
        at=clock.now(),
        turn=circumstances.turn,
        foreign_id=circumstances.request_id,
        policy_revision_id=circumstances.policy_revision_id,
        session_policy_revision_id=circumstances.session_policy_revision_id,
        revision_before=session.compaction_revision,
        revision_after=session.compaction_revision + 1,
        state_before=session.state,
        committed=not edit.is_empty,
        trigger=circumstances.trigger,
        started_at=circumstances.started_at,
        threshold_source=circumstances.threshold_source,
        telemetry=storable_json(circumstances.telemetry),
        cache_estimate=storable_json(circumstances.cache_estimate),
        counted_tokens_before=session.live_tokens,
    )
    fill_facts(made, record)
    session.compaction_revision += 1
    return made


def _reserved_pass_id() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('sessions_app_compactionpass', 'id'))")
        reserved: int = cursor.fetchone()[0]
    return reserved


def _archive(session: Session, edit: Edit, made: CompactionPass) -> None:
    counters = Counters(session)
    stamped = _stamped(session, edit.removed, made) if edit.removed else []
    missing = edit.removed - {row_id for row_id, *_ in stamped}
    if missing:
        raise ValueError(f"the edit names rows that are not live in session {session.pk}: {sorted(missing)}")
    for _, kind, role, tokens in stamped:
        counters.archived(RowKind(kind), Role(role), tokens)
    if not any(kind in STANDING_KINDS for _, kind, *_ in stamped):
        made.stand_at(place_of(made))


_STAMP_SQL: Final = """
UPDATE sessions_app_messagerow SET died_seq = %s, archived_by_id = %s
WHERE session_id = %s AND id = ANY(%s) AND died_seq IS NULL RETURNING id, kind, role, tokens
"""


def _stamped(session: Session, row_ids: frozenset[int], made: CompactionPass) -> list[tuple[int, str, str, int]]:
    """Take live rows out; returns (id, kind, role, tokens) of each. One statement, so each row is found only once."""
    with connection.cursor() as cursor:
        cursor.execute(_STAMP_SQL, [made.seq, made.pk, session.pk, list(row_ids)])
        stamped: list[tuple[int, str, str, int]] = cursor.fetchall()
    return stamped


def _insert(session: Session, inserted: Sequence[NewRow], made: CompactionPass, token_counter: str) -> list[MessageRow]:
    counters = Counters(session)
    rows = []
    for new in inserted:
        row = new_message_row(
            session.pk,
            new.message,
            position=new.position,
            born_seq=made.seq,
            tokens=new.tokens,
            token_counter=token_counter,
            kind=new.kind,
            by_person=False,
        )
        row.made_by, row.replaces_id, row.at = made, new.replaces, made.at
        counters.born(new.kind, new.message.role, row.tokens)
        rows.append(row)
    stored = MessageRow.objects.bulk_create(rows)
    index_rows(session.project_id, stored)
    return stored


def _finish_pass(session: Session, made: CompactionPass, edit: Edit, rows: Sequence[MessageRow]) -> None:
    """What is known only after the rows were written: their ids, the totals, and the event."""
    made.edit = edit_json(edit, [row.pk for row in rows])
    made.counted_tokens_after = session.live_tokens
    made.save(force_insert=True)
    positions = [row.position for row in rows]
    event = event_at(
        session,
        made.seq,
        EventKind.PASS,
        at=made.at,
        first_position=min(positions, default=None),
        last_position=max(positions, default=None),
        compaction_pass=made,
    )
    event.save(force_insert=True)


def _save_summaries(
    session: Session, made: CompactionPass, edit: Edit, rows: Sequence[MessageRow], record: PassRecord
) -> None:
    summaries = [row for row in rows if RowKind(row.kind).is_summary]
    if not summaries:
        return
    number = _supersede_summaries(session, edit.removed, made)
    SummaryRevision.objects.bulk_create(
        SummaryRevision(
            session_id=session.pk,
            number=number + index,
            kind=SummaryKind(made.kind),
            text=record.summary_after if len(summaries) == 1 else row.content,
            # A batch leaves no rolling summary, so its size is the row's own, with its frame.
            tokens=record.rolling_summary_tokens if row.kind == RowKind.MICRO_SUMMARY.value else row.tokens,
            compaction_pass=made,
            row=row,
        )
        for index, row in enumerate(summaries, start=1)
    )


# The newest number is found by index: counting the versions would take longer after each pass.
_SUPERSEDE_SQL: Final = """
WITH superseded AS (
    UPDATE sessions_app_summaryrevision SET superseded_by_id = %(pass)s
    WHERE session_id = %(session)s AND row_id = ANY(%(rows)s) AND superseded_by_id IS NULL
)
SELECT coalesce(max(number), 0) FROM sessions_app_summaryrevision WHERE session_id = %(session)s
"""


def _supersede_summaries(session: Session, row_ids: frozenset[int], made: CompactionPass) -> int:
    """Mark the versions whose rows are taken out as superseded; returns the newest number so far."""
    with connection.cursor() as cursor:
        cursor.execute(_SUPERSEDE_SQL, {"pass": made.pk, "session": session.pk, "rows": list(row_ids)})
        newest: int = cursor.fetchone()[0]
    return newest


def _count_pass(session: Session, record: PassRecord) -> None:
    """By kind only passes that changed rows are counted; one that was held back or gained nothing is no failure."""
    session.passes_total += 1
    session.failed_passes += record.outcome.is_failure
    if not record.is_committed:
        return
    column = _PASS_COLUMNS.get(PassKind(record.kind.value))
    if column is not None:
        setattr(session, column, getattr(session, column) + 1)
