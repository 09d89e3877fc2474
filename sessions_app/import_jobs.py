"""An import that a person started on the import page: file by file, with progress; uploads are removed at the end,
however it comes. One that was made on the command line is entered among them when it is over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from compaction.formats import iter_source_paths
from compaction.wording import reworded, worded
from sessions_app.importing import FileImport, import_files
from sessions_app.models import ImportJob, JobStatus, Project
from sessions_app.services.audit import AuditOrigin
from sessions_app.services.imports import (
    ImportEnded,
    UploadedFile,
    begin_import,
    enter_import,
    finish_import,
    note_import_progress,
)
from sessions_app.token_counting import site_counter

NOTHING_READ: Final = worded("Nothing could be read. Each file says why.")
# Of a folder with very many files, the outcomes of so many are kept.
MOST_REPORTED_FILES: Final = 1_000

logger = logging.getLogger(__name__)


def run_import_job(job_id: int) -> None:
    """Import the files of a queued job. After a crash it begins anew: what is in already is recognised."""
    job = ImportJob.objects.select_related("project").filter(pk=job_id).first()
    if job is None:
        return
    paths = [Path(file["path"]) for file in job.files]
    if job.status in (JobStatus.QUEUED, JobStatus.RUNNING) and begin_import(job):
        _run(job, paths)
    _remove(paths)


def _run(job: ImportJob, paths: list[Path]) -> None:
    try:
        status = _import(job, paths)
    except Exception as error:
        told = worded("The import ended with a fault of ours ({}).", type(error).__name__)
        if not finish_import(job, JobStatus.FAILED, error=told):
            # Gone with its project, which is what it stumbled over.
            return
        # Only once that is stored: an import whose end could not be noted begins anew and needs its files.
        _remove(paths)
        raise
    if status == JobStatus.DONE and has_read_nothing(job.report or ()):
        finish_import(job, JobStatus.FAILED, error=NOTHING_READ)
    else:
        finish_import(job, status)


def has_read_nothing(report: Iterable[Mapping[str, Any]]) -> bool:
    """Whether every file has an error and none gave a session."""
    return all(outcome["error"] and not outcome["sessions"] for outcome in report)


def _renaming(path: str, name: str) -> Callable[[str], str]:
    return lambda text: text.replace(path, name)


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _import(job: ImportJob, paths: list[Path]) -> JobStatus:
    names = {file["path"]: file["name"] for file in job.files}
    files = list(iter_source_paths(paths))
    outcomes = import_files(files, job.project, site_counter(), job.format)
    for done, outcome in enumerate(outcomes, start=1):
        if not note_import_progress(job, done, len(files), shown_outcome(outcome, names)):
            return JobStatus.CANCELLED
    return JobStatus.DONE


def shown_outcome(outcome: FileImport, names: Mapping[str, str]) -> dict[str, Any]:
    """A file's outcome as JSON data. People know their file by its name; where it lay on disk is nobody's business."""
    shown = outcome.to_mapping()
    for path, name in names.items():
        shown["path"] = shown["path"].replace(path, name)
        shown["error"] = reworded(shown["error"], _renaming(path, name))
    return shown


def note_import(
    project: Project, paths: Sequence[Path], outcomes: Sequence[FileImport], origin: AuditOrigin, *, is_whole: bool
) -> ImportJob:
    """Enter an import of the command line among the others; is_whole: nobody stopped it."""
    names = {str(path): path.resolve().name for path in paths if len(path.parts) > 1}
    report = [shown_outcome(outcome, names) for outcome in outcomes[:MOST_REPORTED_FILES]]
    has_failed = is_whole and has_read_nothing(one.to_mapping() for one in outcomes)
    ended = JobStatus.FAILED if has_failed else JobStatus.DONE if is_whole else JobStatus.CANCELLED
    files = [UploadedFile(path.resolve().name, path="", size_bytes=0) for path in paths]
    told = ImportEnded(ended, report, len(outcomes), NOTHING_READ if has_failed else "")
    return enter_import(project, files, told, origin)
