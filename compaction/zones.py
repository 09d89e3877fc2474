"""Zones: which live rows are protected, and which lie between.

The head is how the session began; it never decays. The tail is the newest turns within a token budget. What lies
between is the middle, the only place where rows are compacted. Below the tail budget there is no middle at all
(ENGINE 3). Both ends are found by short walks, from the first row forward and from the newest row back, so the cost
does not depend on the length of the session: the middle is known by subtraction, never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compaction.budgets import TailBudget
from compaction.messages import Role, Row, RowKey
from compaction.transcript import RowOutline, Transcript


@dataclass(frozen=True, slots=True)
class Zones:
    """Bounds and sizes of the three zones.

    head_end: key of the last head row, None when there is no head. tail_start: key of the first tail row, None when
    the tail is empty. Rows strictly between are the middle.
    is_tail_cut: the newest turn alone is larger than the ceiling, so no turn fits whole (ENGINE 3.2).
    """

    head_end: RowKey | None
    head_rows: int
    head_tokens: int
    middle_rows: int
    middle_tokens: int
    tail_start: RowKey | None
    tail_rows: int
    tail_tokens: int
    budget: TailBudget
    is_tail_cut: bool = False

    @property
    def has_middle(self) -> bool:
        """Whether there is anything that may be compacted."""
        return self.middle_rows > 0

    @property
    def middle_start(self) -> RowKey:
        """The least key a middle row can have."""
        return RowKey(0, 0) if self.head_end is None else RowKey(self.head_end.position, self.head_end.id + 1)

    def holds_in_middle(self, key: RowKey) -> bool:
        """Whether a row with this key lies in the middle."""
        return self.middle_start <= key and (self.tail_start is None or key < self.tail_start)


def opening_rows(has_system: bool, protect_first_n: int) -> int:
    """How many rows the head has at least: the system prompt and `protect_first_n` rows after it."""
    return int(has_system) + protect_first_n


def find_zones(
    transcript: Transcript, protect_first_n: int, min_user_rows: int, head_limit_tokens: int, budget: TailBudget
) -> Zones:
    """The zones of `transcript`. The tail is made of whole turns.

    protect_first_n, min_user_rows: rows (settings `protect_first_n` and `min_tail_user_messages`).
    head_limit_tokens: where the head is cut inside the first turn (a share of the threshold).
    """
    head = _head(transcript, protect_first_n, head_limit_tokens)
    head_end = head[-1].key if head else None
    tail = _Tail(budget, min_user_rows)
    for row in _rows_behind(transcript, head_end):
        if not tail.take(row):
            break
    else:
        tail.take_all()
    return _zones(transcript, head, tail, budget)


def _zones(transcript: Transcript, head: list[Row], tail: _Tail, budget: TailBudget) -> Zones:
    head_tokens = sum(row.tokens for row in head)
    return Zones(
        head_end=head[-1].key if head else None,
        head_rows=len(head),
        head_tokens=head_tokens,
        middle_rows=transcript.live_rows - len(head) - tail.rows,
        middle_tokens=transcript.live_tokens - head_tokens - tail.tokens,
        tail_start=tail.start,
        tail_rows=tail.rows,
        tail_tokens=tail.tokens,
        budget=budget,
        is_tail_cut=tail.is_cut,
    )


def _rows_behind(transcript: Transcript, head_end: RowKey | None) -> Iterator[RowOutline]:
    """Rows from the newest back to the first one after the head or after a summary, which is never in the tail."""
    for row in transcript.backward():
        if row.is_summary or (head_end is not None and row.key <= head_end):
            return
        yield row


def _head(transcript: Transcript, protect_first_n: int, limit_tokens: int) -> list[Row]:
    """The opening rows up to the end of the turn they end in, or up to the last edge within `limit_tokens`."""
    rows: list[Row] = []
    edge, tokens, wanted = 0, 0, protect_first_n
    for row in transcript.forward():
        if row.is_summary or (len(rows) >= wanted and _starts_turn(row, rows)):
            return rows
        if not rows and row.role is Role.SYSTEM:
            wanted = opening_rows(True, protect_first_n)
        if row.role is not Role.TOOL:
            edge = len(rows)
        tokens += row.tokens
        if tokens > limit_tokens and not _is_opening(row, rows):
            return rows[:edge]
        rows.append(row)
    return rows


def _starts_turn(row: Row, before: list[Row]) -> bool:
    """Whether a turn begins here: a person's row that does not follow another one. A person's neighbouring rows are
    one request."""
    return row.opens_turn and not (before and before[-1].opens_turn)


def _is_opening(row: Row, before: list[Row]) -> bool:
    """Whether `row` is the system prompt or belongs to the first request: rows that are always protected."""
    if any(earlier.role is Role.ASSISTANT for earlier in before):
        return False
    return row.role in (Role.SYSTEM, Role.DEVELOPER) or (row.is_user and not any(r.is_user for r in before))


class _Tail:
    """Takes rows from the newest back and keeps the last point at which the tail may start.

    Whole turns are taken while they fit the budget; the turn that crosses the budget is completed while it fits the
    ceiling. The newest turn may use the ceiling too, and turns until `min_user_rows` are in may exceed it.
    """

    def __init__(self, budget: TailBudget, min_user_rows: int) -> None:
        self._budget = budget
        self._min_user_rows = max(1, min_user_rows)
        self._open_rows = 0
        self._open_tokens = 0
        self._open_user_rows = 0
        self._oldest_open: RowOutline | None = None
        self._user_rows = 0
        self.rows = 0
        self.tokens = 0
        self.start: RowKey | None = None
        self.is_cut = False

    def take(self, row: RowOutline) -> bool:
        """Look at the next older row; False when the tail can't reach further back."""
        if self._oldest_open is not None and self._oldest_open.opens_turn and not row.opens_turn:
            self._close_turn()
        wants_more = self._user_rows < self._min_user_rows
        if self._open_rows == 0 and not wants_more and self.tokens >= self._budget.budget_tokens:
            return False
        is_over = self.tokens + self._open_tokens + row.tokens > self._budget.ceiling_tokens
        if is_over and not (wants_more and self.rows > 0):
            self.is_cut = self.rows == 0
            return False
        self._open_rows += 1
        self._open_tokens += row.tokens
        self._open_user_rows += row.opens_turn
        self._oldest_open = row
        return True

    def take_all(self) -> None:
        """The walk reached the head: what was seen is the tail, whether or not a turn begins there."""
        if self._open_rows:
            self._close_turn()

    def _close_turn(self) -> None:
        assert self._oldest_open is not None
        self.rows += self._open_rows
        self.tokens += self._open_tokens
        self._user_rows += self._open_user_rows
        self.start = self._oldest_open.key
        self._open_rows = self._open_tokens = self._open_user_rows = 0
