"""A session out of an unredacted export of this program: the same rows, lives, passes, summaries and events.

Where other sources are folded event by event, this one is written down as it was, so what the model saw at an event is
what it saw there. Only ids are given out anew. Nothing of it is trusted: each value must fit its column, each link must
lead to a record of the export, and the counters are counted from the rows. An export that fails in any of this is
`UnusableLedger`, and is read like any other source.

An export of a later moment of the same session adds what is new and moves the rows that lived on. Of one session the
store holds one copy, as long as nobody changes that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeVar

import psycopg
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import Count, Max, Model

from compaction.errors import InvalidInput
from compaction.formats.own_ledger import LedgerRow, OwnLedger
from compaction.records import Outcome
from sessions_app.exporting.records import SESSION_COLUMNS
from sessions_app.importing.copying import copy_events, copy_rows
from sessions_app.importing.ledger_records import MAX_NUMBER, LedgerRecords, merged, numbered
from sessions_app.importing.outcomes import SessionImport
from sessions_app.importing.row_ids import RowIds
from sessions_app.mapping import MAX_INT8
from sessions_app.models import (
    CompactionPass,
    MessageRow,
    ModelCall,
    RowLifetime,
    Session,
    SessionPrompt,
    SummaryRevision,
    Turn,
)
from sessions_app.queries.totals import recounted
from sessions_app.restored import RESTORED_CALL, RESTORED_SEQ
from sessions_app.services.row_words import index_rows
from sessions_app.stored_columns import columns_from

T = TypeVar("T")

ROWS_A_CHUNK: Final = 500
# Prompts are long.
PROMPTS_A_CHUNK: Final = 20
# COPY raises the driver's own errors.
_REFUSED: Final = (IntegrityError, DataError, psycopg.IntegrityError, psycopg.DataError)
_ODDITIES: Final = (InvalidInput, ValueError, KeyError, TypeError, AttributeError, RecursionError)
# Whatever counts on from a position, here or in a browser, stays exact.
MAX_POSITION: Final = 2**53
# What an undo changes of a pass.
_UNDO_COLUMNS: Final = ("undone_seq", "place_position", "place_id")


class UnusableLedger(Exception):
    """The export does not hold together. The words say why."""


def can_restore(session: Session, *, is_new: bool) -> bool:
    """Whether a session of an export is new, or still what an earlier export of it made."""
    return is_new or session.extras.get(RESTORED_SEQ) == session.last_seq


def restore(session: Session, ledger: OwnLedger, outcome: SessionImport) -> None:
    """Write a locked session as `ledger` tells it, or bring it up to that. Its columns are moved, not all saved.

    Raises UnusableLedger; then nothing was written, and the session must be read again.
    """
    try:
        with transaction.atomic():
            _Restoring(session, ledger, outcome).run()
    except _REFUSED as error:
        # What the database says quotes rows.
        raise UnusableLedger(f"the database refused it ({type(error).__name__})") from None
    except _ODDITIES as error:
        raise UnusableLedger(f"{type(error).__name__}: {error}") from error


class _Restoring:
    """The work on one session."""

    def __init__(self, session: Session, ledger: OwnLedger, outcome: SessionImport) -> None:
        self._session, self._ledger, self._outcome = session, ledger, outcome
        self._last_seq = numbered(ledger.session.get("last_seq"), MAX_INT8)
        self._stood_at = session.last_seq
        known = dict(MessageRow.objects.filter(session_id=session.pk).values_list("foreign_id", "id"))
        self._ids = RowIds(ledger.rows, {str(name): row_id for name, row_id in known.items()}, self._last_seq)
        self._records = LedgerRecords(session.pk, self._last_seq, self._ids)

    def run(self) -> None:
        """Write everything, in the order in which one record names another."""
        if self._last_seq <= self._stood_at and self._session.next_position:
            self._outcome.rows_present += len(self._ledger.rows)
            self._outcome.passes_present += CompactionPass.objects.filter(session_id=self._session.pk).count()
            return
        self._write_passes()
        self._end_lives()
        self._write_rows()
        self._begin_lives()
        self._write_all(SummaryRevision, "summary", self._records.summary)
        self._write_all(SessionPrompt, "prompt", self._records.prompt, PROMPTS_A_CHUNK)
        self._write_events()
        self._write_all(Turn, "turn", self._records.turn)
        self._write_all(ModelCall, "call", self._records.call)
        self._set_session()

    def _write_passes(self) -> None:
        known = dict(CompactionPass.objects.filter(session_id=self._session.pk).values_list("number", "id"))
        self._records.passes = known.copy()
        undone: list[CompactionPass] = []
        for record in self._ledger.read("pass"):
            made = self._records.made_pass(record)
            if made.number in known:
                self._outcome.passes_present += 1
                if made.undone_seq is not None:
                    undone.append(_only_undo(made, known[made.number]))
                continue
            made.save(force_insert=True)
            self._records.passes[made.number] = made.pk
            self._outcome.passes_added += 1
        CompactionPass.objects.bulk_update(undone, _UNDO_COLUMNS, batch_size=ROWS_A_CHUNK)

    def _write_rows(self) -> None:
        """Rows that are new, and the lives of all that are over."""
        RowLifetime.objects.filter(session_id=self._session.pk).delete()
        for records in in_chunks(self._ledger.read("row"), ROWS_A_CHUNK):
            told = [merged(record) for record in records]
            new = [one for one in told if self._ids.is_new[one["id"]]]
            self._outcome.rows_present += len(told) - len(new)
            self._copy([self._records.row(one) for one in new])
            lives = (life for one in told for life in self._records.ended_lives(one))
            for some in in_chunks(lives, ROWS_A_CHUNK):
                RowLifetime.objects.bulk_create(some)

    def _copy(self, rows: list[MessageRow]) -> None:
        if rows:
            copy_rows(rows)
            index_rows(self._session.project_id, rows)
        self._outcome.rows_added += len(rows)
        self._outcome.rows_archived += sum(row.archived_by_id is not None for row in rows)

    def _end_lives(self) -> None:
        """Rows that are stored and died: first, so that their places are free for those that are born."""
        self._move_lives(lambda row: row.died_seq is not None)

    def _begin_lives(self) -> None:
        """Rows that are stored and live again."""
        self._move_lives(lambda row: row.died_seq is None)

    def _move_lives(self, is_wanted: Callable[[LedgerRow], bool]) -> None:
        rows = [row for row in self._ledger.rows if not self._ids.is_new[row.id] and is_wanted(row)]
        columns = (
            [self._ids.row(row.id) for row in rows],
            [row.born_seq for row in rows],
            [row.died_seq for row in rows],
            [self._records.pass_id(row.archived_by) for row in rows],
        )
        with connection.cursor() as cursor:
            cursor.execute(_MOVE_SQL, [*columns, self._session.pk])

    def _write_events(self) -> None:
        """Those that are new. They are as many as the session's clock has ticked."""
        expected = self._stood_at
        read = (self._records.event(told) for told in self._ledger.read("event"))
        for events in in_chunks((event for event in read if event.seq > self._stood_at), ROWS_A_CHUNK):
            if [event.seq for event in events] != list(range(expected + 1, expected + 1 + len(events))):
                raise ValueError("an event is missing")
            expected += len(events)
            copy_events(events)
        if expected != self._last_seq:
            raise ValueError("an event is missing")

    def _write_all(
        self, model: type[Model], name: str, read: Callable[[Mapping[str, Any]], Model], size: int = ROWS_A_CHUNK
    ) -> None:
        """All records of a kind anew: nothing points to them."""
        model._default_manager.filter(session_id=self._session.pk).delete()
        for records in in_chunks(self._ledger.read(name), size):
            model._default_manager.bulk_create([read(merged(record)) for record in records])

    def _set_session(self) -> None:
        """What the session's own columns say; the counters are what its rows say."""
        session, told = self._session, self._ledger.session
        columns = columns_from(Session, merged(told), SESSION_COLUMNS)
        columns["state"] = self._ids.state(columns["state"])
        facts = columns_from(Session, told, ("is_held", "last_error", "last_error_at", "last_activity_at"))
        counters = {**recounted(session.pk), **_counted_passes(session.pk)}
        for name, value in (*columns.items(), *facts.items(), *counters.items()):
            setattr(session, name, value)
        session.last_seq = self._last_seq
        session.turns_total = numbered(told.get("turns"), MAX_NUMBER, least=0)
        session.listed_at = session.last_activity_at or session.listed_at
        newest_call = ModelCall.objects.filter(session_id=session.pk).aggregate(newest=Max("id"))["newest"]
        session.extras = {**session.extras, RESTORED_SEQ: self._last_seq, RESTORED_CALL: newest_call or 0}
        _check_bounds(session)
        session.save()


_MOVE_SQL: Final = """
UPDATE sessions_app_messagerow AS r SET born_seq = l.born_seq, died_seq = l.died_seq, archived_by_id = l.archived_by
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]) AS l(id, born_seq, died_seq, archived_by)
WHERE r.session_id = %s AND r.id = l.id
AND (r.born_seq, r.died_seq, r.archived_by_id) IS DISTINCT FROM (l.born_seq, l.died_seq, l.archived_by)
"""


_COUNTED_KINDS: Final = ("micro", "defrag", "batch", "prune")


def _counted_passes(session_id: int) -> dict[str, int]:
    made = list(CompactionPass.objects.filter(session_id=session_id).values_list("kind", "outcome", "committed"))
    by_kind = {
        f"{kind}_passes": sum(found == kind and committed for found, _, committed in made) for kind in _COUNTED_KINDS
    }
    failed = sum(Outcome(outcome).is_failure for _, outcome, _ in made)
    return {**by_kind, "passes_total": len(made), "failed_passes": failed}


def _only_undo(made: CompactionPass, stored_id: int) -> CompactionPass:
    """A stored pass with nothing of `made` but what an undo changes: its prompts and replies are long."""
    return CompactionPass(pk=stored_id, **{name: getattr(made, name) for name in _UNDO_COLUMNS})


def _check_bounds(session: Session) -> None:
    """Raise ValueError where a figure of the session, from which others are counted on, is none that its records led
    to."""
    rows = MessageRow.objects.filter(session_id=session.pk).aggregate(highest=Max("position"), count=Count("id"))
    highest = -1 if rows["highest"] is None else rows["highest"]
    # An import may have given out places that no row took.
    numbered(session.next_position, min(highest + 1 + rows["count"], MAX_POSITION), least=highest + 1)
    turns = Turn.objects.filter(session_id=session.pk).aggregate(number=Max("number"), position=Max("last_position"))
    numbered(session.turns_total, session.next_position, least=turns["number"] or 0)
    numbered(turns["position"] or 0, max(session.next_position - 1, 0), least=0)
    newest = CompactionPass.objects.filter(session_id=session.pk).aggregate(number=Max("number"))["number"]
    numbered(newest or 0, session.passes_total, least=session.passes_total)
    numbered(session.compaction_revision, MAX_NUMBER, least=0)
    if session.reset_seq is not None:
        numbered(session.reset_seq, session.last_seq)


def in_chunks(found: Iterable[T], size: int) -> Iterator[list[T]]:
    """All of `found` in lists of at most `size`, each made when the one before is done with."""
    source = iter(found)
    while chunk := list(islice(source, size)):
        yield chunk
