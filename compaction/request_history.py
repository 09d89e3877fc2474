"""The requests of a session told from the lives of its rows: how large each was, and how much of it was sent before.

A row lives from one event of its session to another; the request that an assistant row answers sent all rows that lived
right before it. Only sizes are worked out here (`MeasuredRequest`); what a cache serves of them and what that costs is
`prompt_cache`. Two ways through the session come out side by side: as it went, and as it would have gone had no pass
ever run. On the second, rows leave only where somebody took them back or began anew.

The idea: the common beginning of two requests ends at the first place where a row left or came in between them. Sizes
of beginnings are kept in a Fenwick tree over the rows in their order, so a session of n rows costs n log n, however
many passes it had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from compaction.prompt_cache import MeasuredRequest


class RowLife(NamedTuple):
    """One stretch of a row's life: live from event `born_seq` until before `died_seq`, None while it lives.

    place: the row's place in the order of all rows. is_made: a pass made the row. is_by_pass: a pass ended this
    stretch. is_reply: an assistant's message as it was appended, the answer to a request.
    """

    row_id: int
    place: int
    born_seq: int
    died_seq: int | None
    tokens: int
    is_made: bool = False
    is_by_pass: bool = False
    is_reply: bool = False
    at_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """One request. reply_id: the row that answers it; seq: the event of that row.

    as_sent: as the session went; without_passes: as it would have gone had no pass ever run.
    """

    reply_id: int
    seq: int
    as_sent: MeasuredRequest
    without_passes: MeasuredRequest


@dataclass(frozen=True, slots=True)
class HistoryChange:
    """An event that changed more than the end of the context, as it left it.

    prefix_tokens: in front of the first change, untouched by it. Both with the fixed overhead.
    """

    seq: int
    tokens_before: int
    tokens_after: int
    prefix_tokens: int


@dataclass(frozen=True, slots=True)
class RequestHistory:
    """All requests and all changes of a session, each in order."""

    requests: tuple[HistoryRequest, ...]
    changes: tuple[HistoryChange, ...]


def read_history(
    lives: Sequence[RowLife], *, fixed_overhead_tokens: int = 0, reset_seqs: Collection[int] = ()
) -> RequestHistory:
    """The history of a session. reset_seqs: events at which the conversation began anew.

    Assistant rows that follow each other without any other event are pieces of one answer: one request.
    """
    walk = _Walk(lives, fixed_overhead_tokens, frozenset(reset_seqs))
    for seq, born, died in _events(lives):
        walk.go_through(seq, born, died)
    return RequestHistory(tuple(walk.requests), tuple(walk.changes))


def _events(lives: Sequence[RowLife]) -> Iterator[tuple[int, list[RowLife], list[RowLife]]]:
    """Each event with what is born and what dies at it, in order."""
    born: dict[int, list[RowLife]] = defaultdict(list)
    died: dict[int, list[RowLife]] = defaultdict(list)
    for life in lives:
        born[life.born_seq].append(life)
        if life.died_seq is not None:
            died[life.died_seq].append(life)
    for seq in sorted({*born, *died}):
        yield seq, sorted(born.get(seq, ()), key=lambda life: life.place), died.get(seq, [])


class _Walk:
    """Goes through a session event by event, on both ways at once."""

    def __init__(self, lives: Sequence[RowLife], overhead_tokens: int, resets: frozenset[int]) -> None:
        places = 1 + max((life.place for life in lives), default=0)
        self.requests: list[HistoryRequest] = []
        self.changes: list[HistoryChange] = []
        self._resets = resets
        self._as_sent = _Way(places, overhead_tokens)
        self._without_passes = _Way(places, overhead_tokens)
        self._is_answering = False

    def go_through(self, seq: int, born: Sequence[RowLife], died: Sequence[RowLife]) -> None:
        """One event. A reply is born behind the request it answers."""
        is_reply = len(born) == 1 and not died and born[0].is_reply and not self._without_passes.knows(born[0])
        if is_reply and not self._is_answering:
            at_seconds = born[0].at_seconds
            sent, spared = self._as_sent.send(at_seconds), self._without_passes.send(at_seconds)
            self.requests.append(HistoryRequest(born[0].row_id, seq, sent, spared))
        self._is_answering = is_reply
        tokens_before = self._as_sent.tokens
        self._live_through(seq, born, died)
        prefix_tokens = self._as_sent.settle()
        self._without_passes.settle()
        if prefix_tokens is not None:
            self.changes.append(HistoryChange(seq, tokens_before, self._as_sent.tokens, prefix_tokens))

    def _live_through(self, seq: int, born: Sequence[RowLife], died: Sequence[RowLife]) -> None:
        for life in died:
            self._as_sent.leave(life)
            if not life.is_made and not life.is_by_pass:
                self._without_passes.leave(life)
        for life in born:
            self._as_sent.enter(life)
            if not life.is_made and not self._without_passes.knows(life):
                self._without_passes.enter(life)
        if seq in self._resets:
            self._without_passes.keep_only(self._as_sent)


class _Way:
    """One way through the session: what lives, and what of it the last request held."""

    def __init__(self, places: int, overhead_tokens: int) -> None:
        self._overhead_tokens = overhead_tokens
        self._sizes = _Beginnings(places)
        self._live: dict[int, RowLife] = {}
        self._known: set[int] = set()
        self._live_tokens = 0
        self._last_place = -1
        # Of the event that is gone through: the first place where it changed more than the end.
        self._first_change: int | None = None
        # Against the last request: rows that it held and that live no more, and rows that it did not hold.
        self._gone: dict[int, RowLife] = {}
        self._new: dict[int, RowLife] = {}
        self._has_sent = False

    @property
    def tokens(self) -> int:
        """What a request would send."""
        return self._live_tokens + self._overhead_tokens

    def knows(self, life: RowLife) -> bool:
        """Whether the row has ever lived here."""
        return life.row_id in self._known

    def enter(self, life: RowLife) -> None:
        """A row begins to live."""
        self._live[life.row_id] = life
        self._known.add(life.row_id)
        self._live_tokens += life.tokens
        self._sizes.add(life.place, life.tokens)
        if life.place < self._last_place:
            self._change_at(life.place)
        self._last_place = max(self._last_place, life.place)
        if self._gone.pop(life.row_id, None) is None:
            self._new[life.row_id] = life

    def leave(self, life: RowLife) -> None:
        """A row lives no more."""
        if self._live.pop(life.row_id, None) is None:
            return
        self._live_tokens -= life.tokens
        self._sizes.add(life.place, -life.tokens)
        self._change_at(life.place)
        if self._new.pop(life.row_id, None) is None:
            self._gone[life.row_id] = life

    def keep_only(self, other: _Way) -> None:
        """What lives there may stay here."""
        for life in [life for row_id, life in self._live.items() if row_id not in other._live]:
            self.leave(life)

    def _change_at(self, place: int) -> None:
        if self._first_change is None or place < self._first_change:
            self._first_change = place

    def settle(self) -> int | None:
        """End an event: the tokens in front of its first change, None when it changed nothing but the end."""
        place, self._first_change = self._first_change, None
        if place is None:
            return None
        return self._sizes.before(place) + self._overhead_tokens

    def send(self, at_seconds: float | None) -> MeasuredRequest:
        """Make a request of all that lives. It differs from the one before from the first row on that came or left."""
        common_tokens = repeated_tokens = 0
        if self._has_sent:
            places = [life.place for life in (*self._gone.values(), *self._new.values())]
            live_tokens = self._sizes.before(min(places)) if places else self._live_tokens
            common_tokens = live_tokens + self._overhead_tokens
            repeated_tokens = self.tokens - sum(life.tokens for life in self._new.values())
        self._has_sent = True
        self._gone.clear()
        self._new.clear()
        return MeasuredRequest(self.tokens, common_tokens, repeated_tokens, at_seconds)


class _Beginnings:
    """Sizes of beginnings: a Fenwick tree of tokens by place."""

    def __init__(self, places: int) -> None:
        self._sums = [0] * (places + 1)

    def add(self, place: int, tokens: int) -> None:
        """Put `tokens` more at `place`."""
        index = place + 1
        while index < len(self._sums):
            self._sums[index] += tokens
            index += index & -index

    def before(self, place: int) -> int:
        """The tokens at all places before `place`."""
        total = 0
        index = place
        while index > 0:
            total += self._sums[index]
            index -= index & -index
        return total
