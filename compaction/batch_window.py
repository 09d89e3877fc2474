"""What a batch compaction takes: the rows between head and tail, and which of them stay all the same.

Unlike a micro pass a batch reads the whole middle. When the newest turn alone is larger than the tail's ceiling, the
tail begins inside that turn, at an edge between complete call/result groups, and the turn's own request stays live in
front of it (ENGINE 3.2, 3.4). Calls that still wait for results are never touched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from compaction.messages import Role, Row, RowKey
from compaction.tool_pairs import pair_rounds
from compaction.transcript import RowOutline, Transcript
from compaction.zones import Zones


@dataclass(frozen=True, slots=True)
class BatchWindow:
    """Rows a batch replaces, in order. `covered`: rows that are summarised now. `earlier`: live summaries that become
    the earlier summary. `kept`: requests of the newest turn that stay live although they lie in the middle."""

    zones: Zones
    covered: tuple[Row, ...]
    earlier: tuple[Row, ...]
    kept: tuple[Row, ...]

    @property
    def tokens(self) -> int:
        """Cost of all rows that leave the live context."""
        return sum(row.tokens for row in (*self.covered, *self.earlier))


def batch_window(transcript: Transcript, zones: Zones) -> BatchWindow:
    """The window of a batch in `zones`. Its `covered` is empty when nothing can be compacted."""
    zones = cut_tail(transcript, zones)
    middle = [row for row in transcript.forward(zones.middle_start) if zones.holds_in_middle(row.key)]
    kept = () if _tail_holds_request(transcript, zones) else _newest_request(middle)
    kept_ids = {row.id for row in kept}
    covered = [row for row in middle if not row.is_summary and row.id not in kept_ids]
    return BatchWindow(zones, _whole_rounds(transcript, covered), tuple(transcript.summaries()), kept)


def _whole_rounds(transcript: Transcript, covered: list[Row]) -> tuple[Row, ...]:
    """`covered` without the calls and results whose partner lies outside: a result may stand behind a user row, in
    the tail, and a call in the head. Such rows stay live, because neither makes sense without the other."""
    rows = tuple(transcript.forward())
    ids = {row.id for row in covered}
    torn: set[int] = set()
    for found in pair_rounds([row.message for row in rows]).values():
        members = {rows[index].id for index in (found.index, *found.results)}
        if members & ids and members - ids:
            torn |= members
    return tuple(row for row in covered if row.id not in torn)


def cut_tail(transcript: Transcript, zones: Zones) -> Zones:
    """`zones`, or, where the newest turn alone is too large for a tail of whole turns, the zones with a tail that
    begins inside it, at the oldest complete edge within the budget.

    The newest group is in the tail whatever it costs, calls that still wait for a result included.
    """
    if not zones.is_tail_cut:
        return zones
    rows = _newest_rows(transcript, zones)
    start, tokens, best_tokens, best_rows = None, 0, 0, 0
    for count, row in enumerate(reversed(rows), start=1):
        tokens += row.tokens
        if start is not None and tokens > zones.budget.budget_tokens:
            break
        if row.role is not Role.TOOL:
            start, best_tokens, best_rows = row.key, tokens, count
    return replace(
        zones,
        tail_start=start,
        tail_rows=best_rows,
        tail_tokens=best_tokens,
        middle_rows=transcript.live_rows - zones.head_rows - best_rows,
        middle_tokens=transcript.live_tokens - zones.head_tokens - best_tokens,
    )


def _newest_rows(transcript: Transcript, zones: Zones) -> list[RowOutline]:
    """Rows from the newest back to just over the budget, in order."""
    rows: list[RowOutline] = []
    tokens = 0
    for row in transcript.backward():
        if zones.head_end is not None and row.key <= zones.head_end:
            break
        rows.append(row)
        tokens += row.tokens
        if tokens > zones.budget.budget_tokens and row.role is not Role.TOOL:
            break
    rows.reverse()
    return rows


def _tail_holds_request(transcript: Transcript, zones: Zones) -> bool:
    """Whether the newest request is in the tail itself."""
    tail = (row for row in transcript.backward() if zones.tail_start is not None and row.key >= zones.tail_start)
    return any(row.opens_turn for row, _ in zip(tail, range(zones.tail_rows), strict=False))


def _newest_request(middle: list[Row]) -> tuple[Row, ...]:
    """The neighbouring rows of a person that opened the newest turn."""
    newest = next((n for n in range(len(middle) - 1, -1, -1) if middle[n].opens_turn), None)
    if newest is None:
        return ()
    first = newest
    while first > 0 and middle[first - 1].opens_turn:
        first -= 1
    return tuple(middle[first : newest + 1])


def first_position(window: BatchWindow) -> int:
    """Where the summary of the window stands: the position of the first row it replaces."""
    keys: list[RowKey] = [row.key for row in (*window.covered, *window.earlier)]
    return min(keys).position
