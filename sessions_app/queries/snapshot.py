"""A session as it was right after one event, read a batch at a time.

The idea: rows are never rewritten, so what was true at an event can be read at any later moment. Each batch is a query
of its own, found by key; between two of them nothing is held, neither a cursor nor a connection, however slowly a
reader takes what was read. What happens meanwhile is not told: a pass that archives a row afterwards leaves it live
here, an undo that revives it leaves it archived.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet

from compaction.messages import RowKey
from sessions_app.models import (
    CompactionPass,
    MessageRow,
    ModelCall,
    RowLifetime,
    Session,
    SessionEvent,
    SessionPrompt,
    SummaryRevision,
    Turn,
)
from sessions_app.queries.prompts import prompts_of
from sessions_app.queries.row_pages import LONG_PASS_COLUMNS, read_row_page, rows_of
from sessions_app.queries.summary_pages import summaries_of

ROWS_A_BATCH: Final = 100
LINES_A_BATCH: Final = 1_000
# Prompts and replies of passes are long.
PASSES_A_BATCH: Final = 20


class SessionGone(Exception):
    """The session was deleted while it was read: what was read so far is not all of it."""


@dataclass(frozen=True, slots=True)
class Life:
    """A time in which a row was live, as far as it is over; archived_by: number of the pass that ended it."""

    born_seq: int
    died_seq: int
    archived_by: int | None


@dataclass(frozen=True, slots=True)
class RowThen:
    """A row with its life at the event, and the lives before that one, oldest first."""

    row: MessageRow
    earlier: tuple[Life, ...]


class Snapshot:
    """One session right after event `seq`, the newest when it was begun. session: as it was then, with its project."""

    def __init__(self, session: Session) -> None:
        """Raises Session.DoesNotExist when it was deleted."""
        self.session = Session.objects.select_related("project").get(pk=session.pk)
        self.seq = self.session.last_seq

    def rows(self, *, with_raw: bool = False) -> Iterator[RowThen]:
        """Every row that was born by then, in order."""
        found = rows_of(self.session.pk)
        found = found if with_raw else found.defer("raw")
        after: RowKey | None = None
        while True:
            page = read_row_page(found, ROWS_A_BATCH, after=after)
            yield from self._then(page.rows)
            if not page.has_later:
                self._require_session()
                return
            after = RowKey(page.rows[-1].position, page.rows[-1].pk)

    def passes(self, *columns: str) -> Iterator[CompactionPass]:
        """Every pass by then, in order, with these columns, or with everything that is stored of it."""
        passes = CompactionPass.objects.filter(session_id=self.session.pk, seq__lte=self.seq)
        passes = passes.only(*columns) if columns else passes
        for one in self._batches(passes, "number", LINES_A_BATCH if columns else PASSES_A_BATCH):
            if one.undone_seq is not None and one.undone_seq > self.seq:
                self._take_back_undo(one, is_whole=not columns)
            yield one

    def _take_back_undo(self, one: CompactionPass, *, is_whole: bool) -> None:
        """Tell a pass as it was before its undo. Then the rows that it had archived told where it stood."""
        one.undone_seq = None
        if is_whole and (one.edit or {}).get("archived"):
            one.stand_at(None)

    def summaries(self) -> Iterator[SummaryRevision]:
        """Every version of a summary by then, in order."""
        versions = summaries_of(self.session.pk).filter(compaction_pass__seq__lte=self.seq)
        for version in self._batches(versions.only(*_SUMMARY_COLUMNS), "number", LINES_A_BATCH):
            if version.superseded_by is not None and version.superseded_by.seq > self.seq:
                version.superseded_by = None
            elif version.superseded_by is None:
                version.superseded_by = self._superseded_then(version)
            yield version

    def prompts(self) -> Iterator[SessionPrompt]:
        """What was sent beside the rows by then, each version."""
        return self._batches(prompts_of(self.session.pk).filter(seq__lte=self.seq), "number", PASSES_A_BATCH)

    def events(self) -> Iterator[SessionEvent]:
        """Every event up to then, with the numbers of their passes."""
        return self._batches(events_of(self.session.pk).filter(seq__lte=self.seq), "seq", LINES_A_BATCH)

    def turns(self) -> Iterator[Turn]:
        """Every turn that had begun; the last one as far as it had come."""
        begun = Turn.objects.filter(session_id=self.session.pk, first_position__lt=self.session.next_position)
        for turn in self._batches(begun, "number", LINES_A_BATCH):
            turn.last_position = min(turn.last_position, self.session.next_position - 1)
            yield turn

    def calls(self) -> Iterator[ModelCall]:
        """The ledger of calls: those for passes by then, and those of the main model that sent what there was then."""
        calls = ModelCall.objects.filter(session_id=self.session.pk).select_related("compaction_pass")
        narrow = calls.defer(*(f"compaction_pass__{name}" for name in LONG_PASS_COLUMNS))
        for call in self._batches(narrow, "id", LINES_A_BATCH):
            seq = call.context_seq if call.compaction_pass is None else call.compaction_pass.seq
            if seq is None or seq <= self.seq:
                yield call

    def _batches(self, found: QuerySet[Any], key: str, size: int) -> Iterator[Any]:
        """All of `found` by rising `key`."""
        after: Any = None
        while True:
            some = list((found if after is None else found.filter(**{f"{key}__gt": after})).order_by(key)[:size])
            yield from some
            if len(some) < size:
                self._require_session()
                return
            after = getattr(some[-1], key)

    def _require_session(self) -> None:
        if not Session.objects.filter(pk=self.session.pk).exists():
            raise SessionGone(self.session.public_id)

    def _then(self, rows: tuple[MessageRow, ...]) -> Iterator[RowThen]:
        # Earlier lives are read behind the rows: one that an undo moves in between is seen twice, and never missed.
        ended: dict[int, list[RowLifetime]] = {}
        lifetimes = RowLifetime.objects.filter(session_id=self.session.pk, row_id__in=[row.pk for row in rows])
        for lifetime in _with_light_pass(lifetimes).order_by("born_seq"):
            ended.setdefault(lifetime.row_id, []).append(lifetime)
        for row in rows:
            if (then := self._row_then(row, ended.get(row.pk, []))) is not None:
                yield then

    def _row_then(self, row: MessageRow, ended: list[RowLifetime]) -> RowThen | None:
        lives: dict[int, RowLifetime | MessageRow] = {row.born_seq: row, **{one.born_seq: one for one in ended}}
        begun = [lives[born_seq] for born_seq in sorted(lives) if born_seq <= self.seq]
        if not begun:
            return None
        last = begun[-1]
        earlier = tuple(_life(one) for one in begun[:-1])
        is_over = last.died_seq is not None and last.died_seq <= self.seq
        archived_by = last.archived_by if is_over else None
        row.born_seq, row.died_seq = last.born_seq, last.died_seq if is_over else None
        row.archived_by = archived_by
        return RowThen(row, earlier)

    def _superseded_then(self, version: SummaryRevision) -> CompactionPass | None:
        """The pass that had superseded a version which an undo made the one in force afterwards."""
        lives = RowLifetime.objects.filter(
            session_id=self.session.pk,
            row_id=version.row_id,
            died_seq__lte=self.seq,
            archived_by__undone_seq__gt=self.seq,
        )
        found = _with_light_pass(lives).order_by("-died_seq").first()
        return None if found is None else found.archived_by


def _with_light_pass(lives: QuerySet[RowLifetime]) -> QuerySet[RowLifetime]:
    """Lives with the passes that ended them, without what is long in these."""
    return lives.select_related("archived_by").defer(*(f"archived_by__{name}" for name in LONG_PASS_COLUMNS))


def _life(life: RowLifetime | MessageRow) -> Life:
    assert life.died_seq is not None, "a row that lives again has died before"
    return Life(life.born_seq, life.died_seq, None if life.archived_by is None else life.archived_by.number)


def events_of(session_id: int) -> QuerySet[SessionEvent]:
    """All events of a session with their passes, without what is long in these."""
    events = SessionEvent.objects.filter(session_id=session_id).select_related("compaction_pass")
    return events.defer(*(f"compaction_pass__{name}" for name in LONG_PASS_COLUMNS))


_SUMMARY_COLUMNS: Final = (
    *("id", "session_id", "number", "kind", "text", "tokens", "row_id", "compaction_pass_id", "superseded_by_id"),
    *("compaction_pass__number", "compaction_pass__seq", "superseded_by__number", "superseded_by__seq"),
)
