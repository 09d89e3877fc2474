"""The requests of a session told from the lives of its rows: how large each was, and how much of it was sent before.

A row lives from one event of its session to another; the request that an assistant row answers sent all rows that lived
right before it. Only sizes are worked out here (`MeasuredRequest`); what a cache serves of them and what that costs is
`prompt_cache`. Two ways through the session come out side by side: as it went, and as it would have gone had no pass
ever run. On the second, rows leave only where somebody took them back or began anew.

The idea: the common beginning of two requests ends at the first place where a row left or came in between them. Sizes
of beginnings are kept in a Fenwick tree over the rows in their order, so a session of n rows costs n log n, however
many passes it had.

What later events need of earlier ones is a value, `HistoryState`: the rows that live on either way, and what the last
request held of them. Events only ever follow, so a history may be told in pieces, and comes out as if told at once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag
from typing import NamedTuple, TypeAlias

from compaction.prompt_cache import MeasuredRequest


class RowLife(NamedTuple):
    """One stretch of a row's life: live from event `born_seq` until before `died_seq`, None while it lives.

    place: grows with the row's place in the order of all rows. is_made: a pass made the row. is_by_pass: a pass ended
    this stretch. is_reply: an assistant's message as it was appended, the answer to a request.
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


class RowMark(IntFlag):
    """What a row is to the events that follow: on the way as it went, on the way without passes, and whether it has
    ever lived on the latter. GONE and NEW: against the last request of the way."""

    SENT_LIVE = 1
    SENT_GONE = 2
    SENT_NEW = 4
    SPARED_LIVE = 8
    SPARED_GONE = 16
    SPARED_NEW = 32
    KNOWN = 64


class StandingRow(NamedTuple):
    """A row that later events need. marks: a sum of `RowMark`."""

    row_id: int
    place: int
    tokens: int
    marks: int


@dataclass(frozen=True, slots=True)
class HistoryState:
    """All that the events behind `seq` need of those up to it. last_places: the highest place so far, on either way."""

    seq: int = 0
    rows: tuple[StandingRow, ...] = ()
    last_places: tuple[int, int] = (-1, -1)
    has_sent: bool = False
    is_answering: bool = False


def read_history(
    lives: Sequence[RowLife], *, fixed_overhead_tokens: int = 0, reset_seqs: Collection[int] = ()
) -> RequestHistory:
    """The history of a session. reset_seqs: events at which the conversation began anew.

    Assistant rows that follow each other without any other event are pieces of one answer: one request.
    """
    last = max((life.died_seq or life.born_seq for life in lives), default=0)
    last = max(last, max((life.born_seq for life in lives), default=0))
    return HistoryWalk(fixed_overhead_tokens).go_on(lives, last, reset_seqs)


def _events(lives: Iterable[RowLife], after: int, through: int) -> Iterator[tuple[int, list[RowLife], list[RowLife]]]:
    """Each event behind `after` with what is born and what dies at it, in order."""
    born: dict[int, list[RowLife]] = defaultdict(list)
    died: dict[int, list[RowLife]] = defaultdict(list)
    for life in lives:
        if after < life.born_seq <= through:
            born[life.born_seq].append(life)
        if life.died_seq is not None and after < life.died_seq <= through:
            died[life.died_seq].append(life)
    for seq in sorted({*born, *died}):
        yield seq, sorted(born.get(seq, ()), key=lambda life: life.place), died.get(seq, [])


class HistoryWalk:
    """Goes through a session event by event, on both ways at once, as many events at a time as the caller likes."""

    def __init__(self, fixed_overhead_tokens: int = 0, state: HistoryState | None = None) -> None:
        state = state or HistoryState()
        self._seq = state.seq
        self._is_answering = state.is_answering
        sent_place, spared_place = state.last_places
        self._as_sent = _Way(fixed_overhead_tokens, sent_place, state.has_sent)
        self._without_passes = _Way(fixed_overhead_tokens, spared_place, state.has_sent)
        self._as_sent.take_up(state.rows, RowMark.SENT_LIVE, RowMark.SENT_GONE, RowMark.SENT_NEW)
        self._without_passes.take_up(state.rows, RowMark.SPARED_LIVE, RowMark.SPARED_GONE, RowMark.SPARED_NEW)
        self._requests: list[HistoryRequest] = []
        self._changes: list[HistoryChange] = []
        self._resets: frozenset[int] = frozenset()

    def go_on(self, lives: Sequence[RowLife], through: int, reset_seqs: Collection[int] = ()) -> RequestHistory:
        """The events behind the last one up to `through`. lives: at least every life that begins or ends there."""
        self._requests, self._changes, self._resets = [], [], frozenset(reset_seqs)
        for way in (self._as_sent, self._without_passes):
            way.make_room(lives)
        for seq, born, died in _events(lives, self._seq, through):
            self._go_through(seq, born, died)
        self._seq = max(self._seq, through)
        return RequestHistory(tuple(self._requests), tuple(self._changes))

    def state(self) -> HistoryState:
        """What the events that follow need."""
        marks: dict[int, int] = defaultdict(int)
        places: dict[int, tuple[int, int]] = {}
        sent, spared = self._as_sent, self._without_passes
        for mark, rows in (
            *((RowMark.KNOWN, spared.known), (RowMark.SENT_LIVE, sent.live), (RowMark.SENT_GONE, sent.gone)),
            *((RowMark.SENT_NEW, sent.new), (RowMark.SPARED_LIVE, spared.live)),
            *((RowMark.SPARED_GONE, spared.gone), (RowMark.SPARED_NEW, spared.new)),
        ):
            value = int(mark)
            for row_id, row in rows.items():
                marks[row_id] |= value
                places[row_id] = (row.place, row.tokens)
        standing = tuple(StandingRow(row_id, *places[row_id], marks[row_id]) for row_id in sorted(marks))
        last_places = (sent.last_place, spared.last_place)
        return HistoryState(self._seq, standing, last_places, sent.has_sent, self._is_answering)

    def _go_through(self, seq: int, born: Sequence[RowLife], died: Sequence[RowLife]) -> None:
        """One event. A reply is born behind the request it answers."""
        is_reply = len(born) == 1 and not died and born[0].is_reply and not self._without_passes.knows(born[0])
        if is_reply and not self._is_answering:
            at_seconds = born[0].at_seconds
            sent, spared = self._as_sent.send(at_seconds), self._without_passes.send(at_seconds)
            self._requests.append(HistoryRequest(born[0].row_id, seq, sent, spared))
        self._is_answering = is_reply
        tokens_before = self._as_sent.tokens
        self._live_through(seq, born, died)
        prefix_tokens = self._as_sent.settle()
        self._without_passes.settle()
        if prefix_tokens is not None:
            self._changes.append(HistoryChange(seq, tokens_before, self._as_sent.tokens, prefix_tokens))

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


# What a way needs of a row: its id, its place and its tokens.
_Placed: TypeAlias = RowLife | StandingRow


class _Way:
    """One way through the session: what lives, and what of it the last request held.

    gone, new: against the last request, rows that it held and that live no more, and rows that it did not hold.
    """

    def __init__(self, overhead_tokens: int, last_place: int, has_sent: bool) -> None:
        self._overhead_tokens = overhead_tokens
        self._sizes = _Beginnings({})
        self._live_tokens = 0
        # Of the event that is gone through: the first place where it changed more than the end.
        self._first_change: int | None = None
        self.live: dict[int, _Placed] = {}
        self.known: dict[int, _Placed] = {}
        self.gone: dict[int, _Placed] = {}
        self.new: dict[int, _Placed] = {}
        self.last_place = last_place
        self.has_sent = has_sent

    def take_up(self, rows: Iterable[StandingRow], live: int, gone: int, new: int) -> None:
        """Go on from a state, whose marks of this way are given."""
        for row in rows:
            if row.marks & live:
                self.live[row.row_id] = row
                self._live_tokens += row.tokens
            if row.marks & gone:
                self.gone[row.row_id] = row
            if row.marks & new:
                self.new[row.row_id] = row
            if row.marks & RowMark.KNOWN:
                self.known[row.row_id] = row

    def make_room(self, lives: Iterable[RowLife]) -> None:
        """Have a place for every row that lives or is about to."""
        sizes = {life.place: 0 for life in lives}
        sizes.update((row.place, row.tokens) for row in self.live.values())
        self._sizes = _Beginnings(sizes)

    @property
    def tokens(self) -> int:
        """What a request would send."""
        return self._live_tokens + self._overhead_tokens

    def knows(self, life: RowLife) -> bool:
        """Whether the row has ever lived here."""
        return life.row_id in self.known

    def enter(self, life: RowLife) -> None:
        """A row begins to live."""
        self.live[life.row_id] = life
        self.known[life.row_id] = life
        self._live_tokens += life.tokens
        self._sizes.add(life.place, life.tokens)
        if life.place < self.last_place:
            self._change_at(life.place)
        self.last_place = max(self.last_place, life.place)
        if self.gone.pop(life.row_id, None) is None:
            self.new[life.row_id] = life

    def leave(self, life: _Placed) -> None:
        """A row lives no more."""
        if self.live.pop(life.row_id, None) is None:
            return
        self._live_tokens -= life.tokens
        self._sizes.add(life.place, -life.tokens)
        self._change_at(life.place)
        if self.new.pop(life.row_id, None) is None:
            self.gone[life.row_id] = life

    def keep_only(self, other: _Way) -> None:
        """What lives there may stay here."""
        for life in [life for row_id, life in self.live.items() if row_id not in other.live]:
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
        if self.has_sent:
            places = [life.place for life in (*self.gone.values(), *self.new.values())]
            live_tokens = self._sizes.before(min(places)) if places else self._live_tokens
            common_tokens = live_tokens + self._overhead_tokens
            repeated_tokens = self.tokens - sum(life.tokens for life in self.new.values())
        self.has_sent = True
        self.gone.clear()
        self.new.clear()
        return MeasuredRequest(self.tokens, common_tokens, repeated_tokens, at_seconds)


class _Beginnings:
    """Sizes of beginnings: a Fenwick tree of tokens over the places that there are. sizes: tokens by place."""

    def __init__(self, sizes: Mapping[int, int]) -> None:
        self._places = sorted(sizes)
        self._sums = [0, *(sizes[place] for place in self._places)]
        for index in range(1, len(self._sums)):
            above = index + (index & -index)
            if above < len(self._sums):
                self._sums[above] += self._sums[index]

    def add(self, place: int, tokens: int) -> None:
        """Put `tokens` more at `place`, one of the places."""
        index = bisect_left(self._places, place) + 1
        while index < len(self._sums):
            self._sums[index] += tokens
            index += index & -index

    def before(self, place: int) -> int:
        """The tokens at all places before `place`."""
        total = 0
        index = bisect_left(self._places, place)
        while index > 0:
            total += self._sums[index]
            index -= index & -index
        return total
