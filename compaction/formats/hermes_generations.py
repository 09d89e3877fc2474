"""Finding the copies: what a compaction in place wrote again, matched with the rows that were live before.

Hermes archives all live rows and stores the whole compacted list anew: kept rows once more under new numbers, the
summary among them. Such a run of stored rows is a generation. It is known by its first row, which repeats a live row
(by the store's own row identity, or by what it says) or is a summary that live rows follow, and it ends where no copy
follows. Rows that merely say the same as an earlier one ("continue") start nothing: without row identity a generation
must begin with the first live rows in order and hold a summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from compaction.formats.hermes_rows import StoredRow

# How far to look for a further copy past a row that is none, before taking the generation as ended.
_STRANGERS = 8


@dataclass(slots=True)
class LiveRow:
    """A row of the live context while a session is folded.

    uid, key and user_text are its own; `stored` is the newest stored row that carries it, alone or joined with others.
    """

    foreign_id: str
    uid: str
    key: str
    user_text: str | None
    is_summary: bool
    stored: StoredRow


@dataclass(frozen=True, slots=True)
class Kept:
    """Live rows, by index, that a generation carries on unchanged: one, or user rows that were joined in the store."""

    indices: tuple[int, ...]
    stored: StoredRow


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A live row, by index, whose text the generation changed."""

    index: int
    stored: StoredRow


@dataclass(frozen=True, slots=True)
class Fresh:
    """A row of the generation that was not stored before: its summary, or a row that was not saved until then."""

    stored: StoredRow
    is_summary: bool


Entry = Kept | Rewritten | Fresh


@dataclass(slots=True)
class Generation:
    """The entries of one generation in order, how many stored rows they were read from, whether its end was found."""

    entries: list[Entry] = field(default_factory=list)
    length: int = 0
    has_tail: bool = True


class LiveIndex:
    """The live rows of one moment, found by identity, by what they say, and by the call they belong to."""

    def __init__(self, live: Iterable[LiveRow] = ()) -> None:
        self.live: list[LiveRow] = []
        self._by_uid: dict[str, list[int]] = {}
        self._summaries: dict[str, int] = {}
        for row in live:
            self.add(row)

    def add(self, row: LiveRow) -> None:
        """Take a row at the end."""
        index = len(self.live)
        self.live.append(row)
        if row.is_summary:
            self._summaries.setdefault(row.key, index)
        elif row.uid:
            self._by_uid.setdefault(row.uid, []).append(index)

    def original(self, row: StoredRow, after: int) -> int | None:
        """The first live row past index `after` of which `row` is a copy by the store's identity."""
        return next((index for index in self._by_uid.get(row.uid, ()) if index > after), None)

    def knows(self, row: StoredRow) -> bool:
        """Whether `row` is a copy of any live row by identity."""
        return bool(row.key and row.uid) and row.uid in self._by_uid

    def summary(self, row: StoredRow) -> int | None:
        """The live summary that is also in `row`."""
        return self._summaries.get(row.summary_key) if row.summary_key else None

    def says_same(self, index: int, row: StoredRow) -> bool:
        """Whether `row` says what live row `index` says, or belongs to the same call."""
        if index >= len(self.live) or self.live[index].is_summary or not row.key:
            return False
        known = self.live[index]
        return known.key == row.key or bool(row.call_key and row.call_key == known.stored.call_key)

    def copy(self, index: int, row: StoredRow) -> Entry:
        """What `row`, a copy of live row `index`, does to it."""
        if self.live[index].key == row.key:
            return Kept((index,), row)
        joined = self._joined(index, row)
        return Kept(joined, row) if joined else Rewritten(index, row)

    def _joined(self, first: int, row: StoredRow) -> tuple[int, ...]:
        """Live user rows from `first` on whose texts, a blank line between, make up the row's text; else empty."""
        taken: list[int] = []
        rest = row.user_text
        for index in range(first, len(self.live)):
            text = self.live[index].user_text
            if self.live[index].is_summary or (text is None and taken):
                continue
            if text == "":
                taken.append(index)  # an empty text adds nothing when rows are joined
                continue
            if rest is None or text is None or not rest.startswith(text):
                return ()
            taken.append(index)
            if rest == text:
                return tuple(taken)
            rest = rest[len(text) :].removeprefix("\n\n") if rest.startswith(text + "\n\n") else None
        return ()


def generation_at(rows: Sequence[StoredRow], start: int, index: LiveIndex) -> Generation | None:
    """The generation that begins at `rows[start]`; None when that row is an ordinary new row."""
    if not index.live:
        return None
    row = rows[start]
    is_followed = any(index.knows(next_row) for next_row in rows[start + 1 : start + 2])
    if index.knows(row) or (row.summary_key and is_followed):
        return _by_identity(rows, start, index)
    return _by_text(rows, start, index)


def _by_identity(rows: Sequence[StoredRow], start: int, index: LiveIndex) -> Generation:
    """All rows from `start` on that repeat live rows in order, with the summary and whatever stands between copies."""
    found = Generation()
    last = -1
    has_summary = False
    for position in range(start, len(rows)):
        row = rows[position]
        own = index.original(row, last) if row.key else None
        is_restart = own is None and index.knows(row)
        is_second_summary = bool(row.summary_key) and has_summary
        is_stranger = own is None and not row.summary_key
        if last == len(index.live) - 1 or is_restart or is_second_summary:
            break
        if is_stranger and not any(index.original(later, last) is not None for later in _next(rows, position)):
            break
        has_summary = has_summary or bool(row.summary_key)
        found.entries += _entries(row, index, own)
        last = max([last, *_reached(found.entries[-1])])
        found.length += 1
    _take_unsaved(found, rows, start + found.length, index)
    return found


def _take_unsaved(found: Generation, rows: Sequence[StoredRow], first: int, index: LiveIndex) -> None:
    """Take the rows from `first` on that are older than the summary: the turn that had not been saved when it ran."""
    written = [entry.stored.at for entry in found.entries if isinstance(entry, Fresh) and entry.is_summary]
    if not written or written[0] is None:
        return
    for row in rows[first:]:
        if row.at is None or row.at >= written[0] or row.summary_key or index.knows(row):
            return
        found.entries.append(Fresh(row, is_summary=False))
        found.length += 1


def _next(rows: Sequence[StoredRow], position: int) -> Sequence[StoredRow]:
    return rows[position + 1 : position + 1 + _STRANGERS]


def _entries(row: StoredRow, index: LiveIndex, own: int | None) -> list[Entry]:
    """What one stored row stands for: a summary, a message, or both in this order."""
    entries: list[Entry] = []
    if row.summary_key:
        known = index.summary(row)
        entries.append(Fresh(row, is_summary=True) if known is None else Kept((known,), row))
    if row.key:
        entries.append(Fresh(row, is_summary=False) if own is None else index.copy(own, row))
    return entries


def _reached(entry: Entry) -> tuple[int, ...]:
    if isinstance(entry, Kept):
        return entry.indices
    return (entry.index,) if isinstance(entry, Rewritten) else ()


def _by_text(rows: Sequence[StoredRow], start: int, index: LiveIndex) -> Generation | None:
    """A generation in a store without row identity: the first live rows, the summary, the last live rows."""
    if not (rows[start].summary_key or index.says_same(0, rows[start])):
        return None
    if any(known.stored.is_active for known in index.live):
        return None
    found = _parse(rows, start, index)
    if found is None or found.has_tail:
        return found
    # The newest row is always kept, so a generation without its end is a bad guess where a later start has one.
    later = range(start + 1, start + found.length)
    return None if any(_has_tail_from(rows, start, other, index) for other in later) else found


def _has_tail_from(rows: Sequence[StoredRow], start: int, other: int, index: LiveIndex) -> bool:
    """Whether a generation with its end begins at `other`, when the rows before it are ordinary ones."""
    between = (LiveRow("", row.uid, row.key, row.user_text, False, row) for row in rows[start:other])
    found = _parse(rows, other, LiveIndex([*index.live, *between]))
    return found is not None and found.has_tail


def _parse(rows: Sequence[StoredRow], start: int, index: LiveIndex) -> Generation | None:
    head = 0
    while start + head < len(rows) and not rows[start + head].summary_key and index.says_same(head, rows[start + head]):
        head += 1
    middle = start + head
    if middle >= len(rows) or not rows[middle].summary_key or index.summary(rows[middle]) is not None:
        return None
    # What was written at once is live at once: going back takes rows from the end only.
    if any(row.is_active != rows[middle].is_active for row in rows[start:middle]):
        return None
    first = middle if rows[middle].key else middle + 1
    tail = _tail(rows, first, index, head)
    # Where rows have an identity that copies keep, what merely says the same is no copy.
    if (not head and not tail) or any(row.is_copy for row in rows[start : first + max(1, len(tail))]):
        return None
    entries: list[Entry] = [index.copy(at, rows[start + at]) for at in range(head)]
    entries.append(Fresh(rows[middle], is_summary=True))
    entries += [index.copy(at, rows[first + number]) for number, at in enumerate(tail)]
    return Generation(entries, max(middle + 1, first + len(tail)) - start, bool(tail))


def _tail(rows: Sequence[StoredRow], first: int, index: LiveIndex, head: int) -> range:
    """The live rows, to the newest that was not rewound, that are repeated from `rows[first]` on."""
    end = len(index.live)
    while end > head and not index.live[end - 1].stored.is_compacted:
        end -= 1
    for last in dict.fromkeys((len(index.live), end)):
        for tail in range(head, last):
            run = rows[first : first + last - tail]
            if len(run) == last - tail and all(index.says_same(tail + at, row) for at, row in enumerate(run)):
                return range(tail, last)
    return range(0)
