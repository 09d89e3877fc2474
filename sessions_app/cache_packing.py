"""Bills and histories as they are stored: lists of figures, and bytes for the many rows of a history.

Must not query. What is packed comes out the same, to the last bit of a sum.
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple
from typing import Any, Final

from compaction.prompt_cache import BillTotals, HeldSegment, RequestBill
from compaction.request_history import HistoryChange, HistoryState, StandingRow
from compaction.session_bills import BilledRequest, BillsState, CurvePoint, PassFigures
from sessions_app.queries.row_lives import place_of, position_at

# A page of the table is smaller, so two chunks hold it wherever it begins.
REQUESTS_A_CHUNK: Final = 240
_COLUMNS: Final = 4
# Fast; most of the gain is in the first level.
_LEVEL: Final = 1


def pack_bills(state: BillsState) -> dict[str, Any]:
    """A state as JSON. Passes are packed by hand, since `asdict` would lose that a change is one."""
    told = asdict(state)
    told["open_passes"] = [pack_pass(one) for one in state.open_passes]
    return told


def unpack_bills(told: Mapping[str, Any] | None) -> BillsState:
    """The state again; nothing is the beginning."""
    if told is None:
        return BillsState()
    rest = dict(told)
    return BillsState(
        totals=BillTotals(**rest.pop("totals")),
        spared_totals=BillTotals(**rest.pop("spared_totals")),
        held=tuple(HeldSegment(*one) for one in rest.pop("held")),
        spared_held=tuple(HeldSegment(*one) for one in rest.pop("spared_held")),
        last=None if (last := rest.pop("last")) is None else CurvePoint(*last),
        points=tuple(CurvePoint(*one) for one in rest.pop("points")),
        open_passes=tuple(unpack_pass(one) for one in rest.pop("open_passes")),
        **rest,
    )


def pack_request(one: BilledRequest) -> list[Any]:
    """A request as one list of figures."""
    return [
        *(one.reply_id, one.seq, one.at_seconds, one.running_tokens, one.running_spared_tokens),
        *(astuple(one.bill), astuple(one.spared)),
    ]


def unpack_request(told: Sequence[Any]) -> BilledRequest:
    """The request again."""
    reply_id, seq, at_seconds, running, running_spared, bill, spared = told
    return BilledRequest(reply_id, seq, at_seconds, RequestBill(*bill), RequestBill(*spared), running, running_spared)


def pack_pass(one: PassFigures) -> list[Any]:
    """The figures of a pass as one list."""
    change = None if one.change is None else astuple(one.change)
    return [
        *(one.number, one.seq, one.is_cache_warm, change),
        *(list(one.cached_shares_pct), one.before_seconds, one.requests_behind),
    ]


def unpack_pass(told: Sequence[Any]) -> PassFigures:
    """The figures again."""
    number, seq, is_warm, change, (before, first, second), before_seconds, behind = told
    found = None if change is None else HistoryChange(*change)
    return PassFigures(number, seq, is_warm, found, (before, first, second), before_seconds, behind)


def pack_history(state: HistoryState) -> bytes:
    """A state as bytes: a line of JSON, and behind it four columns of its rows."""
    first, last = state.last_places
    head = {"seq": state.seq, "places": [first, last], "sent": state.has_sent, "answering": state.is_answering}
    columns = (
        [row.row_id for row in state.rows],
        [position_at(row.place) for row in state.rows],
        [row.tokens for row in state.rows],
        [row.marks for row in state.rows],
    )
    body = b"".join(array("q", column).tobytes() for column in columns)
    return zlib.compress(json.dumps(head).encode() + b"\n" + body, _LEVEL)


def unpack_history(packed: bytes | memoryview | None) -> HistoryState:
    """The state again; nothing is the beginning."""
    if packed is None:
        return HistoryState()
    head, body = zlib.decompress(packed).split(b"\n", 1)
    told = json.loads(head)
    figures = array("q", body)
    count = len(figures) // _COLUMNS
    columns = (figures[start * count : (start + 1) * count] for start in range(_COLUMNS))
    rows = tuple(
        StandingRow(row_id, place_of(position, row_id), tokens, marks)
        for row_id, position, tokens, marks in zip(*columns, strict=True)
    )
    first, last = told["places"]
    return HistoryState(told["seq"], rows, (first, last), told["sent"], told["answering"])
