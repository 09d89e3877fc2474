"""Passes and rewinds that a source recorded: stamps on stored rows, the rows they brought, and the pass itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from compaction.formats.events import PassRecorded, PassTried, Problem, ProblemKind, RowsRewound, SourceRow
from compaction.formats.own_export import REDACTED_SOURCE, SOURCE
from compaction.markers import strip_frame
from compaction.messages import Role, RowKind
from compaction.records import Outcome
from compaction.tokens import TokenCounter
from compaction.wording import worded
from sessions_app.counters import Counters
from sessions_app.importing.outcomes import SessionImport
from sessions_app.importing.pass_figures import fill_figures
from sessions_app.importing.places import places_from, places_in_gap
from sessions_app.importing.rows import RowWriter
from sessions_app.mapping import storable_count, storable_id, storable_or_none, storable_time
from sessions_app.models import (
    CompactionPass,
    EventKind,
    MessageRow,
    PassKind,
    PassOrigin,
    Session,
    SummaryKind,
    SummaryRevision,
)
from sessions_app.queries.pass_places import STANDING_KINDS, place_of
from sessions_app.services.locking import event_at, next_event, touch
from sessions_app.services.row_words import index_rows

_KINDS = {
    RowKind.MICRO_SUMMARY: (PassKind.MICRO, Outcome.ABSORBED, "micro_passes"),
    RowKind.BATCH_SUMMARY: (PassKind.BATCH, Outcome.COMPACTED, "batch_passes"),
    RowKind.PRUNE_STUB: (PassKind.PRUNE, Outcome.PRUNED, "prune_passes"),
}
_DEFRAG = (PassKind.DEFRAG, Outcome.DEFRAG, "defrag_passes")
# How many ids one statement names.
ID_BATCH = 5_000
_PLACE = ("place_position", "place_id")


@dataclass(frozen=True, slots=True)
class _Stamped:
    """A row that left the live context."""

    id: int
    foreign_id: str
    position: int
    born_seq: int
    kind: RowKind
    role: Role
    tokens: int


class PassWriter:
    """Writes the passes of one locked session. Counters and clock of the session are moved, not saved."""

    def __init__(self, session: Session, counter: TokenCounter, rows: RowWriter, outcome: SessionImport) -> None:
        self._session = session
        self._counter = counter
        self._counters = Counters(session)
        self._rows = rows
        self._outcome = outcome

    def record(self, event: PassRecorded) -> None:
        """Store a pass, unless it is stored already. Rows it names that were never seen are counted as a problem."""
        self._rows.flush()
        identity = pass_identity(event)
        known = CompactionPass.objects.filter(session_id=self._session.pk, foreign_id=identity).first()
        if known is not None:
            self._outcome.passes_present += 1
            self._complete(known, event)
            return
        made = self._new_pass(event, identity)
        named = {*event.archived, *(rewrite.foreign_id for rewrite in event.rewritten)}
        stamped = self._stamp([*named, *self._superseded(event, named)], made)
        made.unknown_archived = len(named - {row.foreign_id for row in stamped})
        self._note_unknown(event, made.unknown_archived)
        born = [*self._rewrite(event, stamped, made), *self._summarise(event, stamped, made)]
        self._finish(made, stamped, born)

    def note_tried(self, event: PassTried) -> None:
        """Store a pass that changed no row, unless it is stored already."""
        self._rows.flush()
        identity = hashlib.sha256(json.dumps(["tried", event.number]).encode()).hexdigest()
        if CompactionPass.objects.filter(session_id=self._session.pk, foreign_id=identity).exists():
            self._outcome.passes_present += 1
            return
        made = self._unsaved_pass(event, identity)
        made.kind, made.committed = event.kind.value, False
        made.edit = {"archived": [], "superseded": [], "inserted": []}
        made.rows_after, made.counted_tokens_after = made.rows_before, made.counted_tokens_before
        fill_figures(made, event.figures)
        made.stand_at(place_of(made))
        self._save_pass(made)
        event_at(self._session, made.seq, EventKind.PASS, at=made.at, compaction_pass=made).save(force_insert=True)

    def _complete(self, known: CompactionPass, event: PassRecorded) -> None:
        """Take out rows that a stored pass archived but that came to be known only later, from a fuller source."""
        named = [*event.archived, *(rewrite.foreign_id for rewrite in event.rewritten)]
        late = [row for row in self._live(named) if row.born_seq > known.seq]
        if not late:
            return
        for row in late:
            self._counters.archived(row.kind, row.role, row.tokens)
        stored = next_event(
            self._session,
            EventKind.PASS,
            at=known.at,
            first_position=min(row.position for row in late),
            last_position=max(row.position for row in late),
            compaction_pass=known,
        )
        stored.save(force_insert=True)
        self._by_id(late).update(died_seq=stored.seq, archived_by=known)
        known.unknown_archived = max(0, known.unknown_archived - len(late))
        self._settle_place(known, late)
        known.save(update_fields=["unknown_archived", *_PLACE])
        self._session.compaction_revision += 1
        self._outcome.rows_archived += sum(row.kind is RowKind.MESSAGE for row in late)

    def rewind(self, event: RowsRewound) -> None:
        """Take rows out without a pass. Rows that left before stay as they are."""
        self._rows.flush()
        rows = self._live(event.foreign_ids)
        if not rows:
            return
        for row in rows:
            self._counters.rewound(row.kind, row.role, row.tokens)
        positions = [row.position for row in rows]
        stored = next_event(
            self._session,
            EventKind.REWOUND,
            at=storable_time(event.at),
            first_position=min(positions),
            last_position=max(positions),
        )
        stored.save(force_insert=True)
        self._by_id(rows).update(died_seq=stored.seq)
        self._session.compaction_revision += 1
        self._outcome.rows_rewound += len(rows)

    def _new_pass(self, event: PassRecorded, identity: str) -> CompactionPass:
        session = self._session
        kind, outcome, column = _DEFRAG if event.is_defrag else _KINDS[event.kind]
        setattr(session, column, getattr(session, column) + 1)
        made = self._unsaved_pass(event, identity)
        made.kind, made.outcome, made.committed = kind, outcome.value, True
        made.is_opaque, made.prompt_user = event.opaque, storable_or_none(event.prompt)
        if event.figures is not None:
            fill_figures(made, event.figures)
        self._save_pass(made)
        return made

    def _unsaved_pass(self, event: PassRecorded | PassTried, identity: str) -> CompactionPass:
        """The next pass of the session, with what events of both kinds say. Takes its number and its place in time."""
        session = self._session
        session.last_seq += 1
        session.passes_total += 1
        return CompactionPass(
            session=session,
            number=session.passes_total,
            origin=PassOrigin.IMPORTED,
            seq=session.last_seq,
            at=storable_time(event.at),
            turn=session.turns_total or None,
            revision_before=session.compaction_revision,
            revision_after=session.compaction_revision + 1,
            foreign_id=identity,
            trigger=storable_or_none(event.trigger),
            tokens_before=storable_count(event.tokens_before),
            tokens_after=storable_count(event.tokens_after),
            duration_ms=storable_count(event.duration_ms),
            aux_model=storable_or_none(event.model),
            rows_before=session.live_rows,
            counted_tokens_before=session.live_tokens,
        )

    def _save_pass(self, made: CompactionPass) -> None:
        made.save(force_insert=True)
        self._session.compaction_revision += 1
        self._session.failed_passes += Outcome(made.outcome).is_failure
        if made.at is not None:
            touch(self._session, made.at)
        self._outcome.passes_added += 1

    def _stamp(self, foreign_ids: Sequence[str], made: CompactionPass) -> list[_Stamped]:
        rows = self._live(foreign_ids)
        for row in rows:
            self._counters.archived(row.kind, row.role, row.tokens)
        for start in range(0, len(rows), ID_BATCH):
            self._by_id(rows[start : start + ID_BATCH]).update(died_seq=made.seq, archived_by=made)
        self._outcome.rows_archived += sum(row.kind is RowKind.MESSAGE for row in rows)
        return rows

    def _superseded(self, event: PassRecorded, named: set[str]) -> list[str]:
        """The live micro summary when a pass brings a new one: there is only one, whether or not the source says so."""
        if event.kind is not RowKind.MICRO_SUMMARY or not event.inserted:
            return []
        live = MessageRow.objects.filter(
            session_id=self._session.pk, kind=RowKind.MICRO_SUMMARY.value, died_seq__isnull=True
        )
        return [str(one) for one in live.values_list("foreign_id", flat=True) if one not in named]

    def _rewrite(self, event: PassRecorded, stamped: Sequence[_Stamped], made: CompactionPass) -> list[MessageRow]:
        """Rows that stand in the place of an original. An original that was never seen leaves no place."""
        originals = {row.foreign_id: row for row in stamped}
        rows = []
        for rewrite in event.rewritten:
            original = originals.get(storable_id(rewrite.foreign_id))
            if original is not None:
                row = self._made_row(rewrite.row, original.position, made)
                row.replaces_id = original.id
                rows.append(row)
        return self._stored(rows)

    def _summarise(self, event: PassRecorded, stamped: Sequence[_Stamped], made: CompactionPass) -> list[MessageRow]:
        places = self._places(event, stamped)
        rows = [self._made_row(source, place, made) for source, place in zip(event.inserted, places, strict=True)]
        return self._stored(rows)

    def _stored(self, rows: list[MessageRow]) -> list[MessageRow]:
        stored = MessageRow.objects.bulk_create(rows)
        index_rows(self._session.project_id, stored)
        return stored

    def _made_row(self, source: SourceRow, position: int, made: CompactionPass) -> MessageRow:
        row = self._rows.new_row(source, position, made.seq)
        row.made_by, row.at, row.by_person = made, row.at or made.at, False
        self._counters.born(RowKind(row.kind), source.message.role, row.tokens)
        return row

    def _places(self, event: PassRecorded, stamped: Sequence[_Stamped]) -> list[int]:
        wanted = len(event.inserted)
        rewritten = {storable_id(rewrite.foreign_id) for rewrite in event.rewritten}
        freed = sorted(row.position for row in stamped if row.foreign_id not in rewritten)
        found = self._places_before(event.before, freed, wanted)
        if found is None and event.archived:
            found = self._places_of_archived(event.archived[0], freed, stamped, wanted)
        if found is None:
            # Nothing was freed here: the summary stands for rows the source does not hold, at the end of what it has.
            found = list(range(self._session.next_position, self._session.next_position + wanted))
            self._session.next_position += wanted
        return found

    def _places_before(self, before: str | None, freed: Sequence[int], wanted: int) -> list[int] | None:
        if before is None:
            return None
        anchors = self._live((before,))
        if not anchors:
            self._problem(worded("the row the summary stands in front of is not live: {}", before))
            return None
        below = (
            MessageRow.objects.filter(
                session_id=self._session.pk, died_seq__isnull=True, position__lt=anchors[0].position
            )
            .order_by("-position")
            .values_list("position", flat=True)
            .first()
        )
        found = places_in_gap(freed, below, anchors[0].position, wanted)
        if found is None:
            self._problem(worded("there is no place for a summary in front of {}", before))
        return found

    def _places_of_archived(
        self, first: str, freed: Sequence[int], stamped: Sequence[_Stamped], wanted: int
    ) -> list[int] | None:
        named = [row.position for row in stamped if row.foreign_id == storable_id(first)]
        start = named[0] if named else min(freed, default=None)
        return None if start is None else places_from(freed, start, wanted)

    def _finish(self, made: CompactionPass, stamped: Sequence[_Stamped], born: Sequence[MessageRow]) -> None:
        session = self._session
        made.edit = {
            "archived": [row.id for row in stamped if not row.kind.is_summary],
            "superseded": [row.id for row in stamped if row.kind.is_summary],
            "inserted": [
                {
                    "id": row.pk,
                    "kind": row.kind,
                    "position": row.position,
                    "tokens": row.tokens,
                    "replaces": row.replaces_id,
                }
                for row in born
            ],
        }
        if made.rows_after is None:
            made.rows_after = session.live_rows
        made.counted_tokens_after = session.live_tokens
        self._settle_place(made, stamped)
        made.save(update_fields=["edit", "rows_after", "counted_tokens_after", "unknown_archived", *_PLACE])
        positions = [row.position for row in born] or [row.position for row in stamped]
        event_at(
            session,
            made.seq,
            EventKind.PASS,
            at=made.at,
            first_position=min(positions, default=None),
            last_position=max(positions, default=None),
            compaction_pass=made,
        ).save(force_insert=True)
        self._save_versions(made, stamped, [row for row in born if RowKind(row.kind).is_summary])

    def _settle_place(self, made: CompactionPass, stamped: Sequence[_Stamped]) -> None:
        if any(row.kind.value in STANDING_KINDS for row in stamped):
            made.stand_at(None)
        elif made.place_position is None:
            made.stand_at(place_of(made))

    def _save_versions(
        self, made: CompactionPass, stamped: Sequence[_Stamped], summaries: Sequence[MessageRow]
    ) -> None:
        if made.kind == PassKind.PRUNE:
            return
        versions = SummaryRevision.objects.filter(session_id=self._session.pk)
        gone = [row.id for row in stamped if row.kind.is_summary]
        versions.filter(row_id__in=gone, superseded_by__isnull=True).update(superseded_by=made)
        number = versions.count()
        # A source that hides its summary still made a version; its text and size are unknown.
        rows: Sequence[MessageRow | None] = summaries or (None,)
        SummaryRevision.objects.bulk_create(
            SummaryRevision(
                session_id=self._session.pk,
                number=number + index,
                kind=SummaryKind(made.kind),
                text=None if row is None or made.is_opaque else _version_text(made, row),
                tokens=None if row is None or made.is_opaque else _version_tokens(made, row),
                compaction_pass=made,
                row=row,
            )
            for index, row in enumerate(rows, start=1)
        )

    def _live(self, foreign_ids: Sequence[str]) -> list[_Stamped]:
        """The live rows among those named."""
        found: list[_Stamped] = []
        for start in range(0, len(foreign_ids), ID_BATCH):
            wanted = [storable_id(foreign_id) for foreign_id in foreign_ids[start : start + ID_BATCH]]
            rows = MessageRow.objects.filter(
                session_id=self._session.pk, foreign_id__in=wanted, died_seq__isnull=True
            ).values_list("id", "foreign_id", "position", "born_seq", "kind", "role", "tokens")
            found += [
                _Stamped(pk, str(foreign_id), position, born_seq, RowKind(kind), Role(role), tokens)
                for pk, foreign_id, position, born_seq, kind, role, tokens in rows
            ]
        return found

    def _by_id(self, rows: Sequence[_Stamped]) -> QuerySet[MessageRow]:
        return MessageRow.objects.filter(session_id=self._session.pk, id__in=[row.id for row in rows])

    def _note_unknown(self, event: PassRecorded, unknown: int) -> None:
        if unknown:
            self._problem(
                worded("{} of the rows that a pass archived are not in the live context", unknown), event.line
            )

    def _problem(self, detail: str, line: int | None = None) -> None:
        self._outcome.problems.append(Problem(ProblemKind.ODD_SHAPE, detail, line, skipped=False))


def _version_text(made: CompactionPass, row: MessageRow) -> str | None:
    """A version's text. Of a pass of this program it is kept without the frame of its row, as passes here keep it."""
    is_ours = made.session.source in (SOURCE, REDACTED_SOURCE)
    return strip_frame(row.content) if is_ours and row.content is not None else row.content


def _version_tokens(made: CompactionPass, row: MessageRow) -> int:
    """What a version costs: a rolling summary as its pass counted it, where that is known, else its row."""
    rolling = made.rolling_summary_tokens if row.kind == RowKind.MICRO_SUMMARY.value else None
    return row.tokens if rolling is None else rolling


def pass_identity(event: PassRecorded) -> str:
    """A digest by which a second import knows the pass: what it brought in, or else what it took out and when.

    What it took out is not part of it where it can be helped: of a source that grew and branched, the same pass may
    be told with other rows.
    """
    brought = [row.foreign_id for row in (*event.inserted, *(rewrite.row for rewrite in event.rewritten))]
    facts = [event.kind.value, brought] if brought else [event.kind.value, sorted(event.archived), event.at, event.line]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
