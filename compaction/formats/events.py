"""What a foreign transcript says, as values in the order in which it happened.

Every format module turns bytes into `SourceSession` values whose `events()` replay the session: rows appended, passes
that some other program made, rewinds, turn ends. Whoever consumes them (the store's import, a replay of a file) gives
out positions and sequence numbers; formats never do. What a source recorded is told as recorded; what it doesn't say
is None. Nothing read here is trusted: text is data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from compaction.formats.own_ledger import OwnLedger
from compaction.messages import Message, RowKind
from compaction.records import Outcome, PassKind


class ProblemKind(StrEnum):
    """Why something in a source was skipped or changed on the way in."""

    UNPARSABLE_LINE = "unparsable_line"
    TRUNCATED_LAST_LINE = "truncated_last_line"
    COMMENT_LINE = "comment_line"
    NOT_AN_OBJECT = "not_an_object"
    UNKNOWN_TYPE = "unknown_type"
    NOT_MODEL_BOUND = "not_model_bound"
    MISSING_KEY = "missing_key"
    ODD_SHAPE = "odd_shape"
    MISSING_CALL_ID = "missing_call_id"
    REPLACED_CHARACTER = "replaced_character"
    REPEATED_RECORD = "repeated_record"
    ORPHAN_PARENT = "orphan_parent"
    UNDONE_PASS = "undone_pass"


@dataclass(frozen=True, slots=True)
class Problem:
    """One oddity. `line` is 1-based (None where the source has no lines); `skipped` says the record yields no row."""

    kind: ProblemKind
    detail: str
    line: int | None = None
    skipped: bool = True


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A row as its source holds it.

    foreign_id: stable within the session, so that a second import finds the row again.
    at: epoch seconds, None when the source has no time. raw: the source record as JSON text, for people.
    by_person: False for user rows that a program injected. usage: tokens as the provider reported, None when unknown.
    """

    foreign_id: str
    message: Message
    at: float | None = None
    kind: RowKind = RowKind.MESSAGE
    by_person: bool = True
    model: str | None = None
    raw: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class RowAppended:
    """A row entered the live context at the end."""

    row: SourceRow


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A pass put `row` in the place of a live row, which left: a pruned tool result, or a text it changed.

    row.kind is PRUNE_STUB for a tool result, MESSAGE otherwise.
    """

    foreign_id: str
    row: SourceRow


@dataclass(frozen=True, slots=True)
class PassFigures:
    """What only a record of this program says of a pass. rows_* and *_tokens as in `PassRecord`; None when unknown."""

    outcome: Outcome | None = None
    reason: str = ""
    detail: str = ""
    notes: tuple[str, ...] | None = None
    turn: int | None = None
    rows_before: int | None = None
    rows_after: int | None = None
    exchange_tokens: int | None = None
    rolling_summary_tokens: int | None = None
    occupancy_pct: float | None = None
    threshold_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_break_tokens: int | None = None
    main_model: str | None = None


@dataclass(frozen=True, slots=True)
class PassRecorded:
    """Another program compacted: these rows left the live context, these rows entered it.

    kind: RowKind of the summary it made (micro or batch); PRUNE_STUB when it only rewrote rows.
    archived: foreign ids of rows and of superseded summaries; empty when the summary stands for rows that the source
    does not hold (an export of live rows only, the first rows of a session that continues another one).
    inserted: the summary rows (none when the source hides the text). opaque: the summary exists but can't be read.
    before: foreign id of the live row the summary stands in front of; None = at the place of the first id in
    `archived`, or at the end when that is empty.
    rewritten: rows that were replaced where they stood, in order; their originals are not named in `archived`.
    is_defrag: the micro summary was only rewritten.
    figures: of a pass that this program made.
    Figures are as recorded; None when the source does not say.
    """

    kind: RowKind
    archived: tuple[str, ...]
    inserted: tuple[SourceRow, ...] = ()
    before: str | None = None
    rewritten: tuple[Rewrite, ...] = ()
    at: float | None = None
    trigger: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    duration_ms: int | None = None
    model: str | None = None
    prompt: str | None = None
    opaque: bool = False
    line: int | None = None
    is_defrag: bool = False
    figures: PassFigures | None = None


@dataclass(frozen=True, slots=True)
class PassTried:
    """A pass of this program that changed no row: it failed, was held back or gained nothing.

    number: of the pass in its session, by which a second import finds it again. figures.outcome is known.
    """

    number: int
    kind: PassKind
    figures: PassFigures
    at: float | None = None
    trigger: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    duration_ms: int | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class RowsRewound:
    """The user went back: these rows left the live context without a summary."""

    foreign_ids: tuple[str, ...]
    at: float | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The agent finished, or was stopped, where the source says so. Otherwise turns are derived from the rows."""

    interrupted: bool = False
    at: float | None = None


SourceEvent = RowAppended | PassRecorded | PassTried | RowsRewound | TurnEnded


@dataclass(frozen=True, slots=True)
class SourceSession:
    """One session of a source. `events` may be called more than once and yields the same events each time.

    foreign_id: unique within `source`. parent_foreign_id with parent_link says where it comes from: "compression"
    (the same conversation goes on), "branch", or "subagent" (parent_call_id then names the call that started it).
    window_tokens, fixed_overhead_tokens: as the source states them. extras: further facts as a JSON object.
    ledger: of an export of this program that holds everything; `events` then tell the same more coarsely.
    """

    foreign_id: str
    source: str
    events: Callable[[], Iterator[SourceEvent]]
    title: str = ""
    model: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    end_reason: str | None = None
    parent_foreign_id: str | None = None
    parent_link: str | None = None
    parent_call_id: str | None = None
    window_tokens: int | None = None
    fixed_overhead_tokens: int | None = None
    cwd: str | None = None
    extras: str = "{}"
    is_damaged: bool = False
    ledger: OwnLedger | None = None


@dataclass(slots=True)
class ImportReport:
    """Problems met while reading one file, collected as reading goes on.

    All problems are counted by kind, those whose line was skipped once more by themselves; the first `keep` of each
    kind are kept with their line and detail.
    """

    path: str
    format: str = ""
    keep: int = 200
    lines: int = 0
    counts: dict[ProblemKind, int] = field(default_factory=dict)
    skipped_counts: dict[ProblemKind, int] = field(default_factory=dict)
    skipped_lines: int = 0
    problems: list[Problem] = field(default_factory=list)

    def add(self, problem: Problem) -> None:
        """Count `problem`, and keep it while there is room for its kind."""
        seen = self.counts.get(problem.kind, 0)
        self.counts[problem.kind] = seen + 1
        if problem.skipped:
            self.skipped_counts[problem.kind] = self.skipped_counts.get(problem.kind, 0) + 1
            self.skipped_lines += 1
        if seen < self.keep:
            self.problems.append(problem)
