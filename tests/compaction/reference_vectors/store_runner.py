"""Runner for a store of the other implementation: its rows, read as we read such a store.

What was done to the store is told in words, and its locks and rotations are another program's business. What we have to
agree with is what its rows mean: which of them are live, what a resumed session is sent, and what people are shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from compaction.formats.events import ImportReport, PassRecorded, RowAppended, RowsRewound, SourceEvent, SourceRow
from compaction.formats.hermes_rows import Record
from compaction.formats.hermes_sessions import hermes_session
from compaction.messages import Row
from compaction.model_view import Profile, model_view
from tests.compaction.reference_vectors.cases import Case


class _StoredRows:
    """The recorded rows of a store as our reader asks for them."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._records = {row["id"]: {**row, "_compressed_summary": row["summary_flag"]} for row in rows}

    def records(self) -> Iterator[tuple[int, Record]]:
        yield from self._records.items()

    def record(self, number: int) -> Record:
        return self._records[number]


@dataclass(frozen=True)
class ReadStore:
    """What our reader makes of a store: its rows in order, and which of them are live, archived or taken back."""

    rows: tuple[SourceRow, ...]
    live: tuple[SourceRow, ...]
    archived: frozenset[str]
    rewound: frozenset[str]
    ended: bool
    end_reason: str | None


_CASES: dict[str, Case] = {}


def read_store(case: Case) -> ReadStore:
    """The store of the case, read once."""
    _CASES[case.id] = case
    return _read(case.id)


@cache
def _read(case_id: str) -> ReadStore:
    expected = _CASES[case_id].expected
    facts = {"ended_at": 1.0 if expected["ended"] else None, "end_reason": expected["end_reason"]}
    session = hermes_session("s", facts, _StoredRows(expected["rows"]), ImportReport("recorded rows"))
    folding = _Folding()
    for event in session.events():
        folding.take(event)
    return ReadStore(
        tuple(folding.rows.values()),
        tuple(folding.live),
        frozenset(folding.archived),
        frozenset(folding.rewound),
        session.ended_at is not None,
        session.end_reason,
    )


class _Folding:
    """Events folded into rows; dictionaries keep the order in which rows came."""

    def __init__(self) -> None:
        self.rows: dict[str, SourceRow] = {}
        self.live: list[SourceRow] = []
        self.archived: set[str] = set()
        self.rewound: set[str] = set()

    def take(self, event: SourceEvent) -> None:
        """Take one event."""
        match event:
            case RowAppended(row):
                self.rows[row.foreign_id] = row
                self.live.append(row)
            case RowsRewound(foreign_ids):
                self.rewound.update(foreign_ids)
                self._drop(foreign_ids)
            case PassRecorded():
                self._compact(event)

    def _compact(self, event: PassRecorded) -> None:
        ids = [row.foreign_id for row in self.live]
        place = ids.index(event.archived[0]) if event.archived else len(ids)
        place = place if event.before is None else ids.index(event.before)
        self.live[place:place] = event.inserted
        for rewrite in event.rewritten:
            self.live[[row.foreign_id for row in self.live].index(rewrite.foreign_id)] = rewrite.row
            self.archived.add(rewrite.foreign_id)
        self.rows |= {row.foreign_id: row for row in (*event.inserted, *(one.row for one in event.rewritten))}
        self.archived.update(event.archived)
        self._drop(event.archived)

    def _drop(self, foreign_ids: tuple[str, ...]) -> None:
        self.live = [row for row in self.live if row.foreign_id not in foreign_ids]


def run_store(case: Case) -> dict[str, Any]:
    """The store as we read it, in the spelling of the cases."""
    store = read_store(case)
    live_ids = {row.foreign_id for row in store.live}
    return {
        "error": None,
        "rows": [_stored(row, row.foreign_id in live_ids, row.foreign_id in store.archived) for row in store.rows],
        "message_count": len(store.live),
        "tool_call_count": sum(len(row.message.tool_calls) for row in store.live),
        "ended": store.ended,
        "end_reason": store.end_reason,
        "resume_load": resumed(store),
        "display_load": [_shown(row) for row in store.rows if row.foreign_id not in store.rewound],
        "watermark": max((number_of(row) for row in store.live), default=0),
    }


def resumed(store: ReadStore) -> list[list[Any]]:
    """What a model is sent of the live rows."""
    rows = [Row(n, n, row.message, 1, row.kind, by_person=row.by_person) for n, row in enumerate(store.live)]
    entries = model_view(rows, Profile.STRICT).entries if rows else ()
    return [[str(entry.message.role), entry.message.text.strip(), {}] for entry in entries if entry.row_ids]


def number_of(row: SourceRow) -> int:
    """The number of a row in the store."""
    raw: Mapping[str, Any] = json.loads(row.raw)
    return int(raw["id"])


def _stored(row: SourceRow, is_live: bool, is_archived: bool) -> dict[str, Any]:
    return {
        "id": number_of(row),
        "role": str(row.message.role),
        "content": row.message.text,
        "active": int(is_live),
        "compacted": int(is_archived),
        "summary_flag": int(row.kind.is_summary),
    }


def _shown(row: SourceRow) -> list[str]:
    return [str(row.message.role), row.message.text.strip()]
