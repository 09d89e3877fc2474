"""The rows of an export under their ids here.

Exports name rows by the ids of the site that wrote them. Here they get others, in the same order: ids rise with birth,
and places just behind a row stay just behind it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Final

from django.db import connection

from compaction.formats.own_ledger import LedgerRow
from compaction.state import CompactionState
from sessions_app.mapping import MAX_INT8, state_json, state_of, storable_id

# Epoch seconds of the states' moments.
_MOMENTS: Final = frozenset({"paused_until", "cooldown_until"})
_LATEST_SECONDS: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
_MAY_BE_NEGATIVE: Final = frozenset({"tokens_saved_total"})


class RowIds:
    """Ids of an export to ids here."""

    def __init__(self, rows: Sequence[LedgerRow], known: Mapping[str, int], last_seq: int) -> None:
        """known: rows that are stored, by name. last_seq: the newest event of the export. Raises ValueError when the
        export names a row twice or not at all, or tells of a life that its events do not hold."""
        self._sources = sorted(row.id for row in rows)
        names = {row.id: storable_id(row.name) for row in rows}
        if min(len(names), len(set(names.values()))) < len(rows) or (rows and self._sources[0] < 1):
            raise ValueError("the ids of the rows are not their own")
        for row in rows:
            if not 1 <= row.born_seq <= last_seq or not (
                row.died_seq is None or row.born_seq < row.died_seq <= last_seq
            ):
                raise ValueError("a row lives at no event")
        fresh = [source for source in self._sources if names[source] not in known]
        reserved = dict(zip(fresh, _reserved(len(fresh)), strict=True))
        self._ids = {source: reserved.get(source) or known[names[source]] for source in self._sources}
        self.is_new = {source: source in reserved for source in self._sources}

    def row(self, source: Any) -> int:
        """The row with that id in the export. Raises KeyError when there is none."""
        return self._ids[source]

    def place(self, source: Any) -> int:
        """The id of a place in the order of rows: of a row, or one behind a row."""
        if type(source) is not int or not 0 <= source <= MAX_INT8:
            raise ValueError("a place is no number")
        if source in self._ids:
            return self._ids[source]
        before = bisect_right(self._sources, source)
        return self._ids[self._sources[before - 1]] + 1 if before else 0

    def key(self, told: Any) -> list[int] | None:
        """A place as it is stored: [position, id]."""
        if told is None:
            return None
        position, row_id = told
        return [_count(position), self.place(row_id)]

    def state(self, told: Any) -> dict[str, Any]:
        """The engine's state with its places; empty where no pass ever looked at the session. Raises InvalidInput,
        TypeError or ValueError when it is none."""
        if told == {}:
            return {}
        read = state_of(told)
        _check_state(read)
        return state_json(read) | {"cursor": self.key(read.cursor), "failing_exchange": self.key(read.failing_exchange)}

    def zones(self, told: Any) -> dict[str, Any] | None:
        """Zones as a pass stores them."""
        if told is None:
            return None
        keys = {name: self.key(told[name]) for name in ("head_end", "tail_start")}
        counts = {name: _count_or_none(told[name]) for name in _ZONE_COUNTS}
        return {**counts, **keys, "is_tail_cut": bool(told["is_tail_cut"])}

    def exchanges(self, told: Any) -> list[dict[str, Any]] | None:
        """The exchanges of a pass."""
        if told is None:
            return None
        return [
            {
                "first": self.key(one["first"]),
                "last": self.key(one["last"]),
                "rows": _count(one["rows"]),
                "tokens": _count_or_none(one["tokens"]),
            }
            for one in told
        ]

    def edit(self, told: Any) -> dict[str, Any] | None:
        """What a pass did to the rows."""
        if told is None:
            return None
        return {
            "archived": [self.row(one) for one in told["archived"]],
            "superseded": [self.row(one) for one in told["superseded"]],
            "inserted": [
                {
                    "id": self.row(one["id"]),
                    "kind": str(one["kind"]),
                    "position": _count(one["position"]),
                    "tokens": _count(one["tokens"]),
                    "replaces": None if one["replaces"] is None else self.row(one["replaces"]),
                }
                for one in told["inserted"]
            ],
        }


_ZONE_COUNTS = (
    *("head_rows", "head_tokens", "middle_rows", "middle_tokens", "tail_rows", "tail_tokens"),
    *("tail_budget_tokens", "tail_ceiling_tokens"),
)


def _reserved(count: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence('sessions_app_messagerow', 'id')) FROM generate_series(1, %s)",
            [count],
        )
        return sorted(row_id for (row_id,) in cursor.fetchall())


def _count(value: Any) -> int:
    if not _is_count(value):
        raise ValueError("a count is none")
    return int(value)


def _count_or_none(value: Any) -> int | None:
    return None if value is None else _count(value)


def _check_state(state: CompactionState) -> None:
    """Raise ValueError unless each figure of a state is of the kind of its default and within bounds."""
    for field in fields(state):
        value = getattr(state, field.name)
        if field.name in _MOMENTS:
            is_right = value is None or _is_moment(value)
        elif field.name == "batch_committed_at":
            is_right = all(_is_moment(moment) for moment in value)
        elif field.name in ("cursor", "failing_exchange"):
            is_right = True
        elif field.default is None or type(field.default) is int:
            is_right = _is_count(abs(value) if field.name in _MAY_BE_NEGATIVE and type(value) is int else value)
            is_right = is_right or (value is None and field.default is None)
        else:
            is_right = type(value) is type(field.default)
        if not is_right:
            raise ValueError(f"{field.name} of the state is none")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_INT8


def _is_moment(value: Any) -> bool:
    """Whether it is one that every clock can show."""
    return type(value) in (int, float) and 0 <= value <= _LATEST_SECONDS
