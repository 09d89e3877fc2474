"""A session out of an unredacted export of this program: the same rows, lives, passes, summaries and events.

Where other sources are folded event by event, this one is written down as it was, so what the model saw at an event is
what it saw there. Only ids are given out anew. Nothing of it is trusted: each value must fit its column, each link must
lead to a record of the export, and the counters are counted from the rows. An export that fails in any of this is
`UnusableLedger`, and is read like any other source.

An export of a later moment of the same session adds what is new and moves the rows that lived on. Of one session the
store holds one copy, as long as nobody changes that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import psycopg
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import Model

from compaction.errors import InvalidInput
from compaction.formats.own_ledger import LedgerRow, OwnLedger, Record
from compaction.messages import RowKind
from compaction.records import Outcome
from compaction.wire import message_from_openai
from sessions_app.exporting.records import SESSION_COLUMNS
from sessions_app.importing.copying import copy_events, copy_rows
from sessions_app.importing.outcomes import SessionImport
from sessions_app.importing.row_ids import RowIds
from sessions_app.mapping import MAX_INT8, MESSAGE_COLUMNS, message_from_columns, new_message_row, storable_id
from sessions_app.models import (
    CompactionPass,
    MessageRow,
    ModelCall,
    RowLifetime,
    Session,
    SessionEvent,
    SessionPrompt,
    SummaryRevision,
    Turn,
    TurnStep,
)
from sessions_app.queries.totals import recounted
from sessions_app.services.row_words import index_rows
from sessions_app.stored_columns import columns_from, own_columns

ROWS_A_CHUNK: Final = 500
# Where a restored copy stands: it is brought up to date only as long as nobody has changed it since.
RESTORED_SEQ: Final = "restored_seq"
# COPY raises the driver's own errors.
_REFUSED: Final = (IntegrityError, DataError, psycopg.IntegrityError, psycopg.DataError)
_ODDITIES: Final = (InvalidInput, ValueError, KeyError, TypeError, AttributeError, RecursionError)
_ROW_COLUMNS: Final = frozenset(field.name for field in own_columns(MessageRow)) - {"foreign_id", *MESSAGE_COLUMNS}


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
        self._last_seq = _seq(ledger.session.get("last_seq"), MAX_INT8)
        self._stood_at = session.last_seq
        known = dict(MessageRow.objects.filter(session_id=session.pk).values_list("foreign_id", "id"))
        self._ids = RowIds(ledger.rows, {str(name): row_id for name, row_id in known.items()})
        self._passes: dict[int, int] = {}

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
        self._write_all(SummaryRevision, "summary", self._summary)
        self._write_all(SessionPrompt, "prompt", self._prompt)
        self._write_events()
        self._write_all(Turn, "turn", self._turn)
        self._write_all(ModelCall, "call", self._call)
        self._set_session()

    def _write_passes(self) -> None:
        known = dict(CompactionPass.objects.filter(session_id=self._session.pk).values_list("number", "id"))
        self._passes = known
        undone: list[CompactionPass] = []
        for record in self._ledger.read("pass"):
            made = self._pass(record)
            if made.number in known:
                self._outcome.passes_present += 1
                if made.undone_seq is not None:
                    made.pk = known[made.number]
                    undone.append(made)
                continue
            made.save(force_insert=True)
            self._passes[made.number] = made.pk
            self._outcome.passes_added += 1
        CompactionPass.objects.bulk_update(undone, _UNDO_COLUMNS, batch_size=ROWS_A_CHUNK)

    def _pass(self, record: Record) -> CompactionPass:
        columns = columns_from(CompactionPass, _merged(record))
        Outcome(columns["outcome"])
        _seq(columns["seq"], self._last_seq)
        for name in ("cursor_before_id", "cursor_after_id", "place_id"):
            columns[name] = None if columns[name] is None else self._ids.place(columns[name])
        columns["zones"] = self._ids.zones(columns["zones"])
        columns["exchanges"] = self._ids.exchanges(columns["exchanges"])
        columns["edit"] = self._ids.edit(columns["edit"])
        columns["state_before"] = None if columns["state_before"] is None else self._ids.state(columns["state_before"])
        columns["notes"] = _texts(columns["notes"])
        for name in ("telemetry", "cache_estimate"):
            columns[name] = _mapping_or_none(columns[name])
        return CompactionPass(session=self._session, **columns)

    def _write_rows(self) -> None:
        chunk: list[MessageRow] = []
        self._lifetimes: list[RowLifetime] = []
        for record in self._ledger.read("row"):
            told = _merged(record)
            self._lifetimes += self._ended_lives(told)
            if not self._ids.is_new[told["id"]]:
                self._outcome.rows_present += 1
                continue
            chunk.append(self._row(told))
            if len(chunk) == ROWS_A_CHUNK:
                self._copy(chunk)
                chunk = []
        self._copy(chunk)
        RowLifetime.objects.filter(session_id=self._session.pk).delete()
        RowLifetime.objects.bulk_create(self._lifetimes, batch_size=ROWS_A_CHUNK)

    def _copy(self, rows: list[MessageRow]) -> None:
        if rows:
            copy_rows(rows)
            index_rows(self._session.project_id, rows)
        self._outcome.rows_added += len(rows)
        self._outcome.rows_archived += sum(row.archived_by_id is not None for row in rows)

    def _row(self, told: Mapping[str, Any]) -> MessageRow:
        usage = told["usage"]
        columns = columns_from(MessageRow, {**usage, **told}, _ROW_COLUMNS)
        _seq(columns["born_seq"], self._last_seq)
        _seq(columns["died_seq"] or 1, self._last_seq)
        stored = told.get("message_stored")
        message = message_from_openai(told["message"], _refuse) if stored is None else message_from_columns(stored)
        row = new_message_row(
            self._session.pk,
            message,
            position=columns["position"],
            born_seq=columns["born_seq"],
            tokens=columns["tokens"],
            token_counter=columns["token_counter"],
            kind=RowKind(columns["kind"]),
        )
        for name, value in columns.items():
            setattr(row, name, value)
        row.pk, row.foreign_id = self._ids.row(told["id"]), storable_id(_name_of(told))
        row.made_by_id = self._pass_id(told["made_by_pass"])
        row.archived_by_id = self._pass_id(told["archived_by_pass"])
        row.replaces_id = None if told["replaces"] is None else self._ids.row(told["replaces"])
        return row

    def _ended_lives(self, told: Mapping[str, Any]) -> Iterator[RowLifetime]:
        for life in told["lives"]:
            yield RowLifetime(
                session_id=self._session.pk,
                row_id=self._ids.row(told["id"]),
                born_seq=_seq(life["born_seq"], self._last_seq),
                died_seq=_seq(life["died_seq"], self._last_seq),
                archived_by_id=self._pass_id(life["archived_by"]),
            )

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
            [self._pass_id(row.archived_by) for row in rows],
        )
        with connection.cursor() as cursor:
            cursor.execute(_MOVE_SQL, [*columns, self._session.pk])

    def _summary(self, told: Mapping[str, Any]) -> SummaryRevision:
        return SummaryRevision(
            session_id=self._session.pk,
            compaction_pass_id=self._passes[told["made_by_pass"]],
            superseded_by_id=self._pass_id(told["superseded_by_pass"]),
            row_id=None if told["row_id"] is None else self._ids.row(told["row_id"]),
            **columns_from(SummaryRevision, told),
        )

    def _prompt(self, told: Mapping[str, Any]) -> SessionPrompt:
        columns = columns_from(SessionPrompt, told)
        if not isinstance(columns["messages"], list) or not all(isinstance(one, dict) for one in columns["messages"]):
            raise ValueError("a prompt is no list of messages")
        return SessionPrompt(session_id=self._session.pk, **columns)

    def _turn(self, told: Mapping[str, Any]) -> Turn:
        """A turn that is over as far as its reply was sent: no pass comes after it here."""
        turn = Turn(session_id=self._session.pk, **columns_from(Turn, told))
        turn.ended_at = turn.ended_at or turn.reply_sent_at
        turn.step_done = TurnStep.PRUNE.value
        return turn

    def _call(self, told: Mapping[str, Any]) -> ModelCall:
        made = self._pass_id(told["pass"])
        return ModelCall(session_id=self._session.pk, compaction_pass_id=made, **columns_from(ModelCall, told))

    def _write_events(self) -> None:
        """Those that are new. They are as many as the session's clock has ticked."""
        expected = self._stood_at
        chunk: list[SessionEvent] = []
        for told in self._ledger.read("event"):
            columns = columns_from(SessionEvent, told)
            if columns["seq"] <= self._stood_at:
                continue
            expected += 1
            if columns["seq"] != expected:
                raise ValueError("an event is missing")
            made = self._pass_id(told["pass"])
            chunk.append(SessionEvent(session_id=self._session.pk, compaction_pass_id=made, **columns))
        if expected != self._last_seq:
            raise ValueError("an event is missing")
        copy_events(chunk)

    def _write_all(self, model: type[Model], name: str, read: Callable[[Mapping[str, Any]], Model]) -> None:
        """All records of a kind anew: nothing points to them."""
        model._default_manager.filter(session_id=self._session.pk).delete()
        records = [read(_merged(record)) for record in self._ledger.read(name)]
        model._default_manager.bulk_create(records, batch_size=ROWS_A_CHUNK)

    def _set_session(self) -> None:
        """What the session's own columns say; the counters are what its rows say."""
        session, told = self._session, self._ledger.session
        columns = columns_from(Session, _merged(told), SESSION_COLUMNS)
        columns["state"] = self._ids.state(columns["state"])
        facts = columns_from(Session, told, ("is_held", "last_error", "last_error_at", "last_activity_at"))
        for name, value in (*columns.items(), *facts.items(), *recounted(session.pk).items()):
            setattr(session, name, value)
        for name, value in _counted_passes(session.pk).items():
            setattr(session, name, value)
        session.last_seq = self._last_seq
        session.turns_total = _seq(told.get("turns"), MAX_INT8, least=0)
        session.listed_at = session.last_activity_at or session.listed_at
        session.extras = {**session.extras, RESTORED_SEQ: self._last_seq}
        session.save()

    def _pass_id(self, number: Any) -> int | None:
        """The pass of that number. Raises KeyError when the export has none."""
        return None if number is None else self._passes[number]


_MOVE_SQL: Final = """
UPDATE sessions_app_messagerow AS r SET born_seq = l.born_seq, died_seq = l.died_seq, archived_by_id = l.archived_by
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]) AS l(id, born_seq, died_seq, archived_by)
WHERE r.session_id = %s AND r.id = l.id
AND (r.born_seq, r.died_seq, r.archived_by_id) IS DISTINCT FROM (l.born_seq, l.died_seq, l.archived_by)
"""


def _merged(record: Record) -> dict[str, Any]:
    """A record with what is stored beside its shape; columns of a message keep a name of their own."""
    stored = record.get("stored", {})
    if not isinstance(stored, dict):
        raise ValueError("what is stored is no object")
    told = {name: value for name, value in record.items() if name != "stored"}
    if "message" in stored:
        told["message_stored"] = stored["message"]
    return {**told, **{name: value for name, value in stored.items() if name != "message"}}


def _name_of(told: Mapping[str, Any]) -> str:
    named = told["client_id"]
    return named if isinstance(named, str) and named else f"row-{told['id']}"


def _seq(value: Any, most: int, least: int = 1) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError("a number of an event is out of bounds")
    return value


def _texts(value: Any) -> list[str] | None:
    if value is not None and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        raise ValueError("notes are no list of texts")
    return value


def _mapping_or_none(value: Any) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise ValueError("figures are no object")
    return value


def _refuse(problem: object) -> None:
    raise ValueError("a message is not as this program writes it")


# What an undo changes of a pass.
_UNDO_COLUMNS: Final = ("undone_seq", "place_position", "place_id")
_COUNTED_KINDS: Final = ("micro", "defrag", "batch", "prune")


def _counted_passes(session_id: int) -> dict[str, int]:
    made = list(CompactionPass.objects.filter(session_id=session_id).values_list("kind", "outcome", "committed"))
    by_kind = {
        f"{kind}_passes": sum(found == kind and committed for found, _, committed in made) for kind in _COUNTED_KINDS
    }
    failed = sum(Outcome(outcome).is_failure for _, outcome, _ in made)
    return {**by_kind, "passes_total": len(made), "failed_passes": failed}
