"""What an edit did to the model view, side by side: the rows around it before, and what stands there after.

Recorded passes are read from the rows' own lives, simulated ones by folding the edits of the steps before. Only the
neighbourhood of the change is read with its texts; what lies outside is one line that says it is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Max, Min

from sessions_app.models import CompactionPass, MessageRow, PassFacts, PassKind, ReplayStep, Session, SummaryRevision
from sessions_app.pages.edit_lines import Band, EditLine, Fold, set_beside
from sessions_app.pages.flow import Key
from sessions_app.pages.row_source import SourceRow, read_rows
from sessions_app.pages.row_view import argument_line
from sessions_app.pages.summary_text import unframed
from sessions_app.queries.moments import live_rows, row_ids_as_of
from sessions_app.queries.replay_rows import fed_rows
from sessions_app.rendering.markdown import without_terminal_codes

LINE_CHARS = 200
MOST_LINES = 160
CONTEXT_ROWS = 1
NEAR_POSITIONS = 20


@dataclass(frozen=True, slots=True)
class EditView:
    """Both sides. summary: the text of the inserted summary, None when the edit inserted none or it can't be read."""

    before: tuple[EditLine | Fold, ...]
    after: tuple[EditLine | Fold, ...]
    archived_rows: int
    archived_tokens: int
    superseded_rows: int
    superseded_tokens: int
    inserted_rows: int
    inserted_tokens: int
    user_positions: tuple[int, ...]
    archived_user_rows: int
    summary: str | None
    summary_number: int | None
    inserted_position: int | None

    @property
    def bands(self) -> tuple[Band, ...]:
        """Both sides, cut so that what stays stands at the same height."""
        return set_beside(self.before, self.after)


@dataclass(frozen=True, slots=True)
class _Change:
    """An edit as ids, with the order of the live rows before it."""

    before: tuple[int, ...]
    archived: frozenset[int]
    superseded: frozenset[int]

    @classmethod
    def of(cls, facts: PassFacts, before: Iterable[int]) -> _Change:
        edit = facts.edit or {}
        return cls(tuple(before), frozenset(edit.get("archived") or ()), frozenset(edit.get("superseded") or ()))

    @property
    def removed(self) -> frozenset[int]:
        return self.archived | self.superseded


@dataclass(frozen=True, slots=True)
class _Known:
    """What the rows of an edit are: the stored ones, the versions that summaries among them are, and what earlier steps
    of a simulation inserted. is_partial: only the neighbourhood of the change is known, not how much lies outside."""

    rows: Mapping[int, SourceRow]
    versions: Mapping[int, int]
    simulated: Mapping[int, EditLine]
    is_partial: bool = False

    def line(self, row_id: int, sign: str) -> EditLine | None:
        """The row in one line; None when nothing is known of it."""
        if row_id in self.rows:
            return line_of(self.rows[row_id], sign, self.versions)
        made = self.simulated.get(row_id)
        return None if made is None else replace(made, sign=sign)


@dataclass(frozen=True, slots=True)
class _Outside:
    """How many rows lie in front of and behind those that are listed; is_partial: that there are some, but not how
    many."""

    in_front: int
    behind: int
    is_partial: bool

    @classmethod
    def of(cls, change: _Change, shown: Sequence[int], is_partial: bool) -> _Outside:
        in_front = change.before.index(shown[0]) if shown else 0
        return cls(in_front, len(change.before) - in_front - len(shown), is_partial)

    def around(self, lines: Iterable[EditLine | Fold]) -> tuple[EditLine | Fold, ...]:
        """The lines with a fold at each end at which something lies outside."""
        ends = [
            [Fold(None if self.is_partial else rows, None, None, False, is_end)] if rows > 0 else []
            for rows, is_end in ((self.in_front, False), (self.behind, True))
        ]
        return (*ends[0], *lines, *ends[1])


def read_edit(session: Session, facts: PassFacts, *, show_all: bool = False) -> EditView:
    """The edit of a recorded pass or of a step of a run."""
    if isinstance(facts, ReplayStep) and facts.pk is None:
        return edit_of_plan(session, facts, show_all)
    if isinstance(facts, ReplayStep):
        return edit_of_step(session, facts, show_all)
    assert isinstance(facts, CompactionPass)
    return edit_of_pass(session, facts, show_all)


def edit_of_pass(session: Session, made_by: CompactionPass, show_all: bool) -> EditView:
    change = _Change.of(made_by, row_ids_as_of(session.pk, made_by.seq - 1))
    inserted_ids = [one["id"] for one in inserted_by(made_by)]
    known = stored(session, [*neighbourhood(change), *inserted_ids, *change.superseded])
    inserted = [one for row_id in inserted_ids if (one := known.line(row_id, "+"))]
    summary = SummaryRevision.objects.filter(session_id=session.pk, compaction_pass=made_by).order_by("-number").first()
    return build(made_by, change, known, inserted, show_all, summary)


def edit_of_step(session: Session, step: ReplayStep, show_all: bool) -> EditView:
    """The same for a simulation: rows it inserted earlier have no stored row, only the edits that name them."""
    change = _Change.of(step, rows_before_step(session, step))
    known = _Known(rows_by_id(session, neighbourhood(change)), {}, simulated_rows(step), is_partial=True)
    return build(step, change, known, lines_of_inserted(step), show_all)


def edit_of_plan(session: Session, step: ReplayStep, show_all: bool) -> EditView:
    """The same for a pass that has not been made: before it are the rows that live now."""
    change = _Change.of(step, live_rows(session.pk).values_list("id", flat=True))
    return build(step, change, stored(session, neighbourhood(change)), lines_of_inserted(step), show_all)


def inserted_by(facts: PassFacts) -> Sequence[dict[str, Any]]:
    """What an edit inserted, as the engine recorded it."""
    return (facts.edit or {}).get("inserted") or ()


def lines_of_inserted(step: ReplayStep) -> list[EditLine]:
    return [simulated_line(one, "+", step.number) for one in inserted_by(step)]


def stored(session: Session, ids: Iterable[int]) -> _Known:
    """What is stored of these rows."""
    rows = rows_by_id(session, ids)
    return _Known(rows, summary_names(session, rows.values()), {})


def rows_before_step(session: Session, step: ReplayStep) -> tuple[int, ...]:
    """Ids of the rows that were live in the simulation just before a step, in order, as far as they stand near rows
    that the step removed."""
    gone: set[int] = set()
    born: dict[int, Key] = {}
    for edit in earlier_edits(step):
        gone.update(edit.get("archived") or (), edit.get("superseded") or ())
        born.update({one["id"]: (one["position"], one["id"]) for one in edit.get("inserted") or ()})
    fed = fed_rows(session.pk, step.run.until_seq)
    removed = {*((step.edit or {}).get("archived") or ()), *((step.edit or {}).get("superseded") or ())}
    span = fed.filter(id__in=removed).aggregate(first=Min("position"), last=Max("position"))
    places = [born[one][0] for one in removed if one in born]
    places += [place for place in (span["first"], span["last"]) if place is not None]
    if not places:
        return ()
    near = fed.filter(position__gte=min(places) - NEAR_POSITIONS, position__lte=max(places) + NEAR_POSITIONS)
    if step.at_position is not None:
        near = near.filter(position__lte=step.at_position)
    keys = {row_id: (position, row_id) for row_id, position in near.values_list("id", "position")}
    keys.update(born)
    return tuple(sorted((one for one in keys if one not in gone), key=lambda one: keys[one]))


def earlier_edits(step: ReplayStep) -> Iterable[dict[str, Any]]:
    edits = ReplayStep.objects.filter(run_id=step.run_id, number__lt=step.number).exclude(kind=PassKind.NOTHING)
    return (edit or {} for edit in edits.order_by("number").values_list("edit", flat=True))


def simulated_rows(step: ReplayStep) -> dict[int, EditLine]:
    """Rows that earlier steps inserted, as lines, by their ids in the simulation."""
    edits = ReplayStep.objects.filter(run_id=step.run_id, number__lt=step.number).exclude(kind=PassKind.NOTHING)
    return {
        one["id"]: simulated_line(one, "", number)
        for number, edit in edits.values_list("number", "edit")
        for one in (edit or {}).get("inserted") or ()
    }


def simulated_line(row: dict[str, Any], sign: str, step_number: int) -> EditLine:
    """A row that a simulation made: a summary, named after its step, or a stub in the place of its original."""
    is_summary = str(row.get("kind", "")).endswith("summary")
    text = "" if is_summary else one_line(str(row.get("text") or ""))
    return EditLine(
        sign=sign,
        label=f"s{step_number}" if is_summary else str(row["position"]),
        position=int(row["position"]),
        row_id=None,
        role="summary" if is_summary else str(row.get("role") or ""),
        text=text,
        is_code=False,
        tokens=row.get("tokens"),
        is_user=False,
    )


def one_line(text: str) -> str:
    return " ".join(without_terminal_codes(text[: 4 * LINE_CHARS]).split())[:LINE_CHARS]


def neighbourhood(change: _Change) -> list[int]:
    """The removed rows with all between them, and a row of context on either side."""
    places = [index for index, row_id in enumerate(change.before) if row_id in change.removed]
    if not places:
        return list(change.before[-3:])
    return list(change.before[max(places[0] - CONTEXT_ROWS, 0) : places[-1] + 1 + CONTEXT_ROWS])


def rows_by_id(session: Session, ids: Iterable[int]) -> dict[int, SourceRow]:
    rows = MessageRow.objects.filter(session_id=session.pk, id__in=set(ids))
    return {row.id: row for row in read_rows(rows.order_by("position", "id"))}


def summary_names(session: Session, rows: Iterable[SourceRow]) -> dict[int, int]:
    """Version numbers of summary rows, by row id."""
    ids = [row.id for row in rows if row.is_summary]
    found = SummaryRevision.objects.filter(session_id=session.pk, row_id__in=ids)
    return {int(row_id): number for row_id, number in found.values_list("row_id", "number") if row_id is not None}


def line_of(row: SourceRow, sign: str, names: Mapping[int, int]) -> EditLine:
    """A stored row in one line."""
    if row.is_summary:
        number = names.get(row.id)
        label = f"v{number}" if number else str(row.position)
        return EditLine(sign, label, row.position, row.id, "summary", "", False, row.tokens, False)
    text, is_code = row.text.start, False
    if not text.strip() and row.calls:
        call = row.calls[0]
        text, is_code = f"{call.name} {argument_line(call.arguments)}", True
        if len(row.calls) > 1:
            text += f" (+{len(row.calls) - 1})"
    first = one_line(text)
    return EditLine(
        sign,
        str(row.position),
        row.position,
        row.id,
        row.role.value,
        first,
        is_code,
        row.tokens,
        row.role.value == "user",
    )


def build(
    facts: PassFacts,
    change: _Change,
    known: _Known,
    inserted: Sequence[EditLine],
    show_all: bool,
    summary: SummaryRevision | None = None,
) -> EditView:
    """Both sides of an edit. summary: the version it made, None for a simulation."""
    shown = neighbourhood(change)
    listed = [one for row_id in shown if (one := known.line(row_id, "−" if row_id in change.removed else ""))]
    kept = [one for one in listed if not one.sign]
    archived = [one for one in listed if one.sign and one.role != "summary"]
    superseded = [one for one in listed if one.sign and one.role == "summary"]
    outside = _Outside.of(change, shown, known.is_partial)
    text = text_of(facts, inserted, summary)
    return EditView(
        before=outside.around(folded(listed, show_all)),
        after=outside.around(folded(sorted([*kept, *inserted], key=place_of), show_all)),
        archived_rows=len(archived),
        archived_tokens=tokens_of(archived),
        superseded_rows=len(superseded),
        superseded_tokens=tokens_of(superseded),
        inserted_rows=len(inserted),
        inserted_tokens=tokens_of(inserted),
        user_positions=tuple(one.position for one in kept if one.is_user),
        archived_user_rows=sum(one.is_user for one in archived),
        summary=None if text is None else unframed(text),
        summary_number=None if summary is None else summary.number,
        inserted_position=inserted[0].position if inserted else None,
    )


def text_of(facts: PassFacts, inserted: Sequence[EditLine], summary: SummaryRevision | None) -> str | None:
    """The text of the summary that an edit inserted; None when it inserted none, or when it can't be read."""
    if summary is not None:
        return summary.text
    return facts.summary_after if any(one.role == "summary" for one in inserted) else None


def place_of(line: EditLine) -> tuple[int, bool]:
    """The order of the lines after an edit: what enters stands behind what was there."""
    return line.position, line.sign == "+"


def tokens_of(lines: Iterable[EditLine]) -> int:
    return sum(line.tokens or 0 for line in lines)


def folded(lines: Sequence[EditLine], show_all: bool) -> list[EditLine | Fold]:
    """The lines, or of very many the first and the last with a fold between."""
    if show_all or len(lines) <= MOST_LINES:
        return list(lines)
    start, end = lines[: MOST_LINES // 2], lines[-MOST_LINES // 4 :]
    hidden = lines[len(start) : len(lines) - len(end)]
    fold = Fold(len(hidden), hidden[0].position, hidden[-1].position, any(one.sign for one in hidden), False)
    return [*start, fold, *end]
