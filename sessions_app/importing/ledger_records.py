"""Single records of an export as records here, unsaved.

Must not write, nor know in which order records are written. Nothing of an export is trusted: each value must fit its
column, each link must lead to a record of the export, and each event is one of the session's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from compaction.formats.own_ledger import Record
from compaction.messages import RowKind
from compaction.records import Outcome
from compaction.wire import message_from_openai
from sessions_app.importing.row_ids import RowIds
from sessions_app.mapping import MESSAGE_COLUMNS, message_from_columns, new_message_row, storable_id
from sessions_app.models import (
    CompactionPass,
    MessageRow,
    ModelCall,
    RowLifetime,
    SessionEvent,
    SessionPrompt,
    SummaryRevision,
    Turn,
    TurnStep,
)
from sessions_app.stored_columns import columns_from, own_columns

# Numbers that go on rising here must leave room in their columns.
MAX_NUMBER: Final = 2**30
_ROW_COLUMNS: Final = frozenset(field.name for field in own_columns(MessageRow)) - {"foreign_id", *MESSAGE_COLUMNS}


class LedgerRecords:
    """Makes the records of one session. passes: ids of those that are stored, by number, which links are looked up in.

    Each method raises KeyError, TypeError, ValueError or InvalidInput for a record that does not hold together.
    """

    def __init__(self, session_id: int, last_seq: int, ids: RowIds) -> None:
        self._session_id, self._last_seq, self._ids = session_id, last_seq, ids
        self.passes: dict[int, int] = {}

    def made_pass(self, record: Record) -> CompactionPass:
        """A pass, with the ids of its rows in all that it holds."""
        columns = columns_from(CompactionPass, merged(record))
        Outcome(columns["outcome"])
        numbered(columns["number"], MAX_NUMBER)
        numbered(columns["seq"], self._last_seq)
        self._moment_or_none(columns["undone_seq"])
        for name in ("cursor_before_id", "cursor_after_id", "place_id"):
            columns[name] = None if columns[name] is None else self._ids.place(columns[name])
        columns["zones"] = self._ids.zones(columns["zones"])
        columns["exchanges"] = self._ids.exchanges(columns["exchanges"])
        columns["edit"] = self._ids.edit(columns["edit"])
        columns["state_before"] = None if columns["state_before"] is None else self._ids.state(columns["state_before"])
        columns["notes"] = _texts(columns["notes"])
        for name in ("telemetry", "cache_estimate"):
            columns[name] = _mapping_or_none(columns[name])
        return CompactionPass(session_id=self._session_id, **columns)

    def row(self, told: Mapping[str, Any]) -> MessageRow:
        """A new row as it is now, under the id that is reserved for it."""
        usage = told["usage"]
        columns = columns_from(MessageRow, {**usage, **told}, _ROW_COLUMNS)
        numbered(columns["born_seq"], self._last_seq)
        self._moment_or_none(columns["died_seq"])
        stored = told.get("message_stored")
        message = message_from_openai(told["message"], _refuse) if stored is None else message_from_columns(stored)
        row = new_message_row(
            self._session_id,
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
        row.made_by_id = self.pass_id(told["made_by_pass"])
        row.archived_by_id = self.pass_id(told["archived_by_pass"])
        row.replaces_id = None if told["replaces"] is None else self._ids.row(told["replaces"])
        return row

    def ended_lives(self, told: Mapping[str, Any]) -> Iterator[RowLifetime]:
        """The lives of a row before its present one, or its last."""
        for life in told["lives"]:
            yield RowLifetime(
                session_id=self._session_id,
                row_id=self._ids.row(told["id"]),
                born_seq=numbered(life["born_seq"], self._last_seq),
                died_seq=numbered(life["died_seq"], self._last_seq),
                archived_by_id=self.pass_id(life["archived_by"]),
            )

    def summary(self, told: Mapping[str, Any]) -> SummaryRevision:
        """A version of a summary; its pass must be stored."""
        columns = columns_from(SummaryRevision, told)
        numbered(columns["number"], MAX_NUMBER)
        return SummaryRevision(
            session_id=self._session_id,
            compaction_pass_id=self.passes[told["made_by_pass"]],
            superseded_by_id=self.pass_id(told["superseded_by_pass"]),
            row_id=None if told["row_id"] is None else self._ids.row(told["row_id"]),
            **columns,
        )

    def prompt(self, told: Mapping[str, Any]) -> SessionPrompt:
        """What was sent beside the rows."""
        columns = columns_from(SessionPrompt, told)
        numbered(columns["number"], MAX_NUMBER)
        numbered(columns["seq"], self._last_seq, least=0)
        if not isinstance(columns["messages"], list) or not all(isinstance(one, dict) for one in columns["messages"]):
            raise ValueError("a prompt is no list of messages")
        return SessionPrompt(session_id=self._session_id, **columns)

    def turn(self, told: Mapping[str, Any]) -> Turn:
        """A turn that is over as far as its reply was sent: no pass comes after it here."""
        turn = Turn(session_id=self._session_id, **columns_from(Turn, told))
        turn.ended_at = turn.ended_at or turn.reply_sent_at
        turn.step_done = TurnStep.PRUNE.value
        return turn

    def call(self, told: Mapping[str, Any]) -> ModelCall:
        """An entry of the ledger of calls."""
        columns = columns_from(ModelCall, told)
        if columns["context_seq"] is not None:
            numbered(columns["context_seq"], self._last_seq, least=0)
        return ModelCall(session_id=self._session_id, compaction_pass_id=self.pass_id(told["pass"]), **columns)

    def event(self, told: Mapping[str, Any]) -> SessionEvent:
        """An event, with its pass."""
        columns = columns_from(SessionEvent, told)
        return SessionEvent(session_id=self._session_id, compaction_pass_id=self.pass_id(told["pass"]), **columns)

    def _moment_or_none(self, seq: Any) -> None:
        if seq is not None:
            numbered(seq, self._last_seq)

    def pass_id(self, number: Any) -> int | None:
        """The pass of that number. Raises KeyError when the export has none."""
        return None if number is None else self.passes[number]


def merged(record: Record) -> dict[str, Any]:
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


def numbered(value: Any, most: int, least: int = 1) -> int:
    """`value` when it is a whole number within these bounds. Raises ValueError."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError("a number is out of bounds")
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
