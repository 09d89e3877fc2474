"""What the import pages show: imports so far, and one import file by file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from compaction.wording import wording_from_json
from sessions_app.models import ImportJob, JobStatus, Project
from sessions_app.translated import translated

NEWEST_JOBS = 20
ENTRY_MARK = ": "
SKIP_WORDS = {
    "unparsable_line": gettext_lazy("not JSON"),
    "truncated_last_line": gettext_lazy("the last line is cut off"),
    "comment_line": gettext_lazy("a comment"),
    "not_an_object": gettext_lazy("not an object"),
    "unknown_type": gettext_lazy("of a type nobody knows"),
    "not_model_bound": gettext_lazy("never sent to the model"),
    "missing_key": gettext_lazy("a key is missing"),
    "odd_shape": gettext_lazy("of an odd shape"),
    "missing_call_id": gettext_lazy("a tool call without id"),
    "replaced_character": gettext_lazy("characters that can't be stored were replaced"),
    "repeated_record": gettext_lazy("a record that was there already"),
    "orphan_parent": gettext_lazy("its parent is missing"),
    "undone_pass": gettext_lazy("a pass that was undone"),
}


@dataclass(frozen=True, slots=True)
class ProblemLine:
    """One skipped or odd line."""

    words: str
    detail: str
    line: int | None
    skipped: bool


@dataclass(frozen=True, slots=True)
class ProblemCount:
    """How often one kind of problem was met."""

    words: str
    count: int


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """One session of a file."""

    public_id: str
    title: str
    is_new: bool
    rows_added: int
    rows_present: int
    passes_added: int
    rows_archived: int
    problems: tuple[ProblemLine, ...]


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What came of one file. error: why nothing, or nothing more, could be read; empty when all was read.

    skipped: of the lines that were skipped, adding up to skipped_lines; oddities: of those that were kept all the same.
    left_out: names of files of its archive that nobody looked at, so many in all.
    """

    name: str
    error: str
    format: str
    lines: int
    skipped_lines: int
    skipped: tuple[ProblemCount, ...]
    oddities: tuple[ProblemCount, ...]
    left_out: tuple[str, ...]
    left_out_total: int
    problems: tuple[ProblemLine, ...]
    sessions: tuple[SessionOutcome, ...]

    @property
    def archive(self) -> str:
        """The name of the archive that the file lies in, else its own. Its entries are called "archive.zip: entry"."""
        return self.name.partition(ENTRY_MARK)[0]

    @property
    def rows_added(self) -> int:
        return sum(session.rows_added for session in self.sessions)


@dataclass(frozen=True, slots=True)
class ImportPage:
    """One import. waiting: names of uploads that have no outcome yet; files_total: with the files inside archives."""

    job: ImportJob
    files: tuple[FileOutcome, ...]
    waiting: tuple[str, ...]
    files_total: int
    size_bytes: int
    progress_pct: float | None

    @property
    def is_over(self) -> bool:
        return self.job.status in (JobStatus.DONE, JobStatus.CANCELLED, JobStatus.FAILED)

    @property
    def rows_added(self) -> int:
        return sum(file.rows_added for file in self.files)

    @property
    def unread_files(self) -> int:
        """How many files have an error and gave no session."""
        return sum(bool(file.error and not file.sessions) for file in self.files)

    @property
    def unlisted_files(self) -> int:
        """How many files were read whose outcome is not kept."""
        return max(self.job.progress_done - len(self.files), 0) if self.is_over else 0

    @property
    def sessions_total(self) -> int:
        return sum(len(file.sessions) for file in self.files)


def newest_jobs(projects: QuerySet[Project]) -> QuerySet[ImportJob]:
    """The newest imports into the projects the reader may see."""
    jobs = ImportJob.objects.filter(project__in=projects).select_related("project", "created_by")
    return jobs.defer("report").order_by("-id")[:NEWEST_JOBS]


def read_import(job: ImportJob) -> ImportPage:
    """One import with what is known of its files so far."""
    report = job.report or []
    total = files_total(job)
    return ImportPage(
        job=job,
        files=tuple(file_outcome(one) for one in report),
        waiting=waiting_names(job),
        files_total=total,
        size_bytes=sum(file.get("size_bytes", 0) for file in job.files),
        progress_pct=round(100 * job.progress_done / total, 1) if total else None,
    )


def files_total(job: ImportJob) -> int:
    """How many files there are to read, those in archives counted one by one as soon as they are known."""
    return job.progress_total or len(job.files)


def waiting_names(job: ImportJob) -> tuple[str, ...]:
    """The uploads of which nothing was read so far."""
    if job.status not in (JobStatus.QUEUED, JobStatus.RUNNING):
        return ()
    begun = {name for one in job.report or () for name in (one["path"], one["path"].partition(ENTRY_MARK)[0])}
    return tuple(file["name"] for file in job.files if file["name"] not in begun)


def file_outcome(stored: Mapping[str, Any]) -> FileOutcome:
    """The outcome of a file as it was stored."""
    left_out = stored.get("left_out") or {}
    skipped = skipped_counts(stored)
    return FileOutcome(
        name=stored.get("path", ""),
        error=translated(wording_from_json(stored.get("error", ""))),
        format=stored.get("format", "") or "",
        lines=stored.get("lines", 0) or 0,
        skipped_lines=stored.get("skipped_lines", 0) or 0,
        skipped=problem_counts(skipped),
        oddities=problem_counts(
            {kind: count - skipped.get(kind, 0) for kind, count in (stored.get("counts") or {}).items()}
        ),
        left_out=tuple(left_out.get("names") or ()),
        left_out_total=left_out.get("total", 0),
        problems=tuple(problem_line(one) for one in stored.get("problems") or ()),
        sessions=tuple(session_outcome(one) for one in stored.get("sessions") or ()),
    )


def skipped_counts(stored: Mapping[str, Any]) -> dict[str, int]:
    """How many lines of each kind were skipped; where that was not counted yet, all of a kind like its first ones."""
    told = stored.get("skipped_counts")
    if told is not None:
        return dict(told)
    kinds = {one.get("kind") for one in stored.get("problems") or () if one.get("skipped", True)}
    return {kind: count for kind, count in (stored.get("counts") or {}).items() if kind in kinds}


def problem_counts(counts: Mapping[str, int]) -> tuple[ProblemCount, ...]:
    return tuple(ProblemCount(str(SKIP_WORDS.get(kind, kind)), count) for kind, count in counts.items() if count)


def session_outcome(stored: Mapping[str, Any]) -> SessionOutcome:
    return SessionOutcome(
        public_id=stored.get("session", ""),
        title=stored.get("title", ""),
        is_new=bool(stored.get("is_new")),
        rows_added=stored.get("rows_added", 0),
        rows_present=stored.get("rows_present", 0),
        passes_added=stored.get("passes_added", 0),
        rows_archived=stored.get("rows_archived", 0),
        problems=tuple(problem_line(one) for one in stored.get("problems") or ()),
    )


def problem_line(stored: Mapping[str, Any]) -> ProblemLine:
    return ProblemLine(
        words=str(SKIP_WORDS.get(stored.get("kind", ""), stored.get("kind", ""))),
        detail=translated(wording_from_json(stored.get("detail", ""))),
        line=stored.get("line"),
        skipped=bool(stored.get("skipped", True)),
    )
