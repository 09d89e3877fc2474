"""Live rows in chunks, along the index of live positions: what planning a pass reads.

Must not write or lock. The idea: a pass looks at the first rows, at the newest ones, at those behind its cursor and at
the summaries, and mostly at few of each. So one statement fetches the beginning of all four, and what it costs does not
depend on the length of the session; of the newest rows it fetches no words, for nobody who walks back reads any. The
statements are written out because planning is on the way of every turn: building them anew took longer than running
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from django.db import connection

from compaction.messages import RowKind
from sessions_app.mapping import OUTLINE_COLUMNS, ROW_COLUMNS, OutlineColumns, RowColumns, outline_columns

FIRST_CHUNK: Final = 16
NEWEST_CHUNK: Final = 32

_COLUMNS: Final = ", ".join(ROW_COLUMNS)
_OUTLINE: Final = ", ".join(OUTLINE_COLUMNS)
# The same columns with nothing where an outline has none, for a statement that reads both.
_OUTLINE_AMONG_ROWS: Final = ", ".join(name if name in OUTLINE_COLUMNS else "NULL" for name in ROW_COLUMNS)
_LIVE: Final = (
    "FROM sessions_app_messagerow WHERE session_id = %(session)s AND died_seq IS NULL AND born_seq <= %(seq)s"
)
_SUMMARY_KINDS: Final = ", ".join(f"'{kind.value}'" for kind in RowKind if kind.is_summary)


class _Walk(IntEnum):
    FIRST = 0
    NEWEST = 1
    AT_CURSOR = 2
    SUMMARY = 3


_OPENING_SQL: Final = f"""
(SELECT {_Walk.FIRST:d}, {_COLUMNS} {_LIVE} ORDER BY position LIMIT {FIRST_CHUNK}) UNION ALL
(SELECT {_Walk.NEWEST:d}, {_OUTLINE_AMONG_ROWS} {_LIVE} ORDER BY position DESC LIMIT {NEWEST_CHUNK}) UNION ALL
(SELECT {_Walk.AT_CURSOR:d}, {_COLUMNS} {_LIVE} AND position >= %(cursor)s ORDER BY position LIMIT {FIRST_CHUNK})
UNION ALL
(SELECT {_Walk.SUMMARY:d}, {_COLUMNS} {_LIVE} AND kind IN ({_SUMMARY_KINDS}))
"""
_FORWARD_SQL: Final = f"SELECT {_COLUMNS} {_LIVE} AND position >= %(position)s ORDER BY position LIMIT %(rows)s"
_BACKWARD_SQL: Final = f"SELECT {_OUTLINE} {_LIVE} AND position < %(position)s ORDER BY position DESC LIMIT %(rows)s"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Live rows that follow one another without a gap, beginning with the first one at or after `start` (a position;
    None: with the first row of all). reaches_end: there is none behind them."""

    start: int | None
    rows: tuple[RowColumns, ...]
    reaches_end: bool

    def holds(self, position: int | None) -> bool:
        """Whether the first live row at or after `position` is here, if there is one."""
        if self.start is not None and (position is None or position < self.start):
            return False
        return self.reaches_end or position is None or position <= self.rows[-1].position


@dataclass(frozen=True, slots=True)
class Opening:
    """The beginnings of the walks over a session's live rows, seen at one moment. newest: newest row first."""

    forward: tuple[Stretch, ...]
    newest: tuple[OutlineColumns, ...]
    summaries: tuple[RowColumns, ...]


@dataclass(frozen=True, slots=True)
class LiveChunks:
    """Reads the live rows of one session that were born up to event `seq`."""

    session_id: int
    seq: int

    def opening(self, cursor: int | None) -> Opening:
        """The first rows, the newest ones, those from position `cursor` on (none without a cursor), the summaries."""
        found: dict[int, list[RowColumns]] = {walk: [] for walk in _Walk}
        for walk, *values in self._read(_OPENING_SQL, {"cursor": cursor}):
            found[walk].append(RowColumns(*values))
        for rows in found.values():
            rows.sort(key=_place)
        stretches = [_stretch(None, found[_Walk.FIRST])]
        if cursor is not None:
            stretches.append(_stretch(cursor, found[_Walk.AT_CURSOR]))
        newest = tuple(outline_columns(row) for row in reversed(found[_Walk.NEWEST]))
        return Opening(tuple(stretches), newest, tuple(found[_Walk.SUMMARY]))

    def from_position(self, position: int, rows: int) -> list[RowColumns]:
        """Up to `rows` rows at or after `position`, in order."""
        return [RowColumns(*values) for values in self._read(_FORWARD_SQL, {"position": position, "rows": rows})]

    def before_position(self, position: int, rows: int) -> list[OutlineColumns]:
        """The outlines of up to `rows` rows before `position`, the newest first."""
        return [OutlineColumns(*values) for values in self._read(_BACKWARD_SQL, {"position": position, "rows": rows})]

    def _read(self, sql: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql, {"session": self.session_id, "seq": self.seq, **parameters})
            found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def _stretch(start: int | None, rows: list[RowColumns]) -> Stretch:
    return Stretch(start, tuple(rows), len(rows) < FIRST_CHUNK)


def _place(row: RowColumns) -> tuple[int, int]:
    return row.position, row.id
