"""Folding a Hermes session: stored copies become one row with its lifetime.

Walks the stored rows in the order of their numbers and says what happened: rows appended, rows rewound, and a pass for
each generation that a compaction in place wrote (see `hermes_generations`). A row that left is archived when the store
says so or when it is a superseded summary; it was rewound when the store marks it neither live nor compacted and no
later generation repeats it. Only the plan is made here; texts are read when the plan is carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compaction.formats.hermes_generations import Entry, Generation, Kept, LiveIndex, LiveRow, Rewritten, generation_at
from compaction.formats.hermes_rows import StoredRow
from compaction.formats.row_identity import RowIds


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A row to be read from the store: which record, which part of it, and under which id it goes."""

    number: int
    foreign_id: str
    is_summary: bool = False
    is_rewrite: bool = False


@dataclass(frozen=True, slots=True)
class PlannedAppend:
    """A row entered at the end."""

    row: PlannedRow


@dataclass(frozen=True, slots=True)
class PlannedRewind:
    """Rows left because the user went back."""

    foreign_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedPass:
    """A pass: who left, which summaries entered before whom, which rows were rewritten."""

    archived: tuple[str, ...]
    inserted: tuple[PlannedRow, ...]
    before: str | None
    rewritten: tuple[tuple[str, PlannedRow], ...]


Step = PlannedAppend | PlannedRewind | PlannedPass


def fold(rows: Sequence[StoredRow]) -> list[Step]:
    """What happened to a session whose stored rows, in order, are `rows`."""
    rows = _with_copies_marked(rows)
    folding = _Folding(rows)
    position = 0
    while position < len(rows):
        generation = generation_at(rows, position, folding.index)
        if generation is None:
            folding.append(rows[position])
            position += 1
        else:
            folding.compact(generation)
            position += max(1, generation.length)
    folding.finish()
    return folding.steps


def _with_copies_marked(rows: Sequence[StoredRow]) -> list[StoredRow]:
    seen: set[str] = set()
    marked = []
    for row in rows:
        marked.append(replace(row, is_copy=True) if row.uid and row.uid in seen else row)
        seen.add(row.uid)
    return marked


class _Folding:
    """The live rows as the walk goes on, and the steps so far."""

    def __init__(self, rows: Sequence[StoredRow]) -> None:
        self.index = LiveIndex()
        self.steps: list[Step] = []
        self._ids = RowIds()
        self._undone: list[LiveRow] = []
        self._last_uid = {row.uid: row.number for row in rows if row.uid}
        self._last_key = {row.key: row.number for row in rows if row.key}

    @property
    def live(self) -> list[LiveRow]:
        """The live rows in order."""
        return self.index.live

    def append(self, row: StoredRow) -> None:
        """Take an ordinary row: a message, a summary that no copies surround, or a message that holds one."""
        if row.summary_key:
            self._lone_summary(row)
        if not row.key:
            return
        if not self._will_be_undone(row):
            # The user can only go back over the newest rows: what stays shows that the going back came before it.
            self._rewind(self._undone)
        planned = self._planned(row)
        self.steps.append(PlannedAppend(planned))
        self.index.add(_live(planned, row))
        self._note_undone(self.live[-1:])

    def compact(self, generation: Generation) -> None:
        """Take a generation: the pass that wrote it, and the live rows as it leaves them."""
        carried = {index for entry in generation.entries if isinstance(entry, Kept) for index in entry.indices}
        changed = {entry.index for entry in generation.entries if isinstance(entry, Rewritten)}
        before = list(self.live)
        left = [row for index, row in enumerate(before) if index not in carried | changed]
        self._rewind([row for row in left if not row.is_summary and _is_undone(row.stored)])
        archived = [row.foreign_id for row in left if row.is_summary or not _is_undone(row.stored)]
        self._pass(generation.entries, before, archived)

    def finish(self) -> None:
        """Settle the rows that the store says are not live but that no later row explains."""
        gone = [row for row in self.live if not row.stored.is_active]
        self._rewind([row for row in gone if _is_undone(row.stored) and not row.is_summary])
        archived = [row.foreign_id for row in gone if row.is_summary or not _is_undone(row.stored)]
        if archived:
            self.steps.append(PlannedPass(tuple(archived), (), None, ()))

    def _pass(self, entries: Sequence[Entry], before: Sequence[LiveRow], archived: list[str]) -> None:
        live: list[LiveRow] = []
        summaries: list[tuple[PlannedRow, int]] = []
        rewritten: list[tuple[str, PlannedRow]] = []
        for entry in entries:
            if isinstance(entry, Kept):
                live += [replace(before[index], stored=entry.stored) for index in entry.indices]
            elif isinstance(entry, Rewritten):
                planned = replace(self._planned(entry.stored), is_rewrite=True)
                rewritten.append((before[entry.index].foreign_id, planned))
                live.append(_live(planned, entry.stored))
            elif entry.is_summary:
                planned = self._planned(entry.stored, is_summary=True)
                summaries.append((planned, len(live)))
                live.append(_live(planned, entry.stored))
            else:
                # Not saved before, but there before the pass: it is told first, so that the pass finds it.
                planned = self._planned(entry.stored)
                self.steps.append(PlannedAppend(planned))
                live.append(_live(planned, entry.stored))
        if archived or summaries or rewritten:
            behind = [row.foreign_id for row in live[summaries[-1][1] + 1 :]] if summaries else []
            inserted = tuple(planned for planned, _ in summaries)
            self.steps.append(PlannedPass(tuple(archived), inserted, next(iter(behind), None), tuple(rewritten)))
        self.index = LiveIndex(live)
        self._note_undone(live)

    def _lone_summary(self, row: StoredRow) -> None:
        """A summary without copies around it: it replaced all that was live, or stands for rows of another session."""
        has_replaced = row.is_active and not any(known.stored.is_active for known in self.live)
        archived = {known.foreign_id for known in self.live if known.is_summary or known.stored.is_compacted}
        planned = self._planned(row, is_summary=True)
        left = tuple(known.foreign_id for known in self.live if has_replaced and known.foreign_id in archived)
        self.steps.append(PlannedPass(left, (planned,), None, ()))
        self._drop(set(left))
        self.index.add(_live(planned, row))

    def _rewind(self, rows: Sequence[LiveRow]) -> None:
        live = {row.foreign_id for row in self.live} if rows else set()
        gone = tuple(row.foreign_id for row in rows if row.foreign_id in live)
        if gone:
            self.steps.append(PlannedRewind(gone))
            self._drop(set(gone))
        self._undone = [row for row in self._undone if row not in rows]

    def _drop(self, foreign_ids: set[str]) -> None:
        if foreign_ids:
            self.index = LiveIndex(row for row in self.live if row.foreign_id not in foreign_ids)

    def _note_undone(self, rows: Sequence[LiveRow]) -> None:
        self._undone += [row for row in rows if not row.is_summary and self._will_be_undone(row.stored)]

    def _will_be_undone(self, row: StoredRow) -> bool:
        """Whether the user went back over this row later and no later row is a copy of it."""
        is_repeated = max(self._last_uid.get(row.uid, 0), self._last_key.get(row.key, 0)) > row.number
        return _is_undone(row) and not is_repeated

    def _planned(self, row: StoredRow, is_summary: bool = False) -> PlannedRow:
        key = row.summary_key if is_summary else row.key
        base = f"{row.uid}-{key[:8]}" if row.uid else key
        return PlannedRow(row.number, self._ids.give(base), is_summary)


def _live(planned: PlannedRow, row: StoredRow) -> LiveRow:
    if planned.is_summary:
        return LiveRow(planned.foreign_id, "", row.summary_key, None, True, row)
    return LiveRow(planned.foreign_id, row.uid, row.key, row.user_text, False, row)


def _is_undone(row: StoredRow) -> bool:
    return not row.is_active and not row.is_compacted
