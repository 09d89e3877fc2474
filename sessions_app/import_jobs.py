"""An import that a person started on the import page: file by file, with progress; uploads are removed at the end,
however it comes."""

from __future__ import annotations

import logging
from pathlib import Path

from compaction.formats import iter_source_paths
from sessions_app.importing import import_files
from sessions_app.models import ImportJob, JobStatus
from sessions_app.services.imports import begin_import, finish_import, note_import_progress
from sessions_app.token_counting import site_counter

logger = logging.getLogger(__name__)


def run_import_job(job_id: int) -> None:
    """Import the files of a queued job. After a crash it begins anew: what is in already is recognised."""
    job = ImportJob.objects.select_related("project").filter(pk=job_id).first()
    if job is None:
        return
    paths = [Path(file["path"]) for file in job.files]
    if job.status in (JobStatus.QUEUED, JobStatus.RUNNING):
        begin_import(job)
        _run(job, paths)
    _remove(paths)


def _run(job: ImportJob, paths: list[Path]) -> None:
    try:
        status = _import(job, paths)
    except Exception as error:
        finish_import(job, JobStatus.FAILED, error=f"The import ended with a fault of ours ({type(error).__name__}).")
        # Only once that is stored: an import whose end could not be noted begins anew and needs its files.
        _remove(paths)
        raise
    if status == JobStatus.DONE and has_read_nothing(job):
        finish_import(job, JobStatus.FAILED, error="Nothing could be read. Each file says why.")
    else:
        finish_import(job, status)


def has_read_nothing(job: ImportJob) -> bool:
    """Whether every file has an error and none gave a session."""
    return all(outcome["error"] and not outcome["sessions"] for outcome in job.report or ())


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _import(job: ImportJob, paths: list[Path]) -> JobStatus:
    names = {file["path"]: file["name"] for file in job.files}
    files = list(iter_source_paths(paths))
    outcomes = import_files(files, job.project, site_counter(), job.format)
    for done, outcome in enumerate(outcomes, start=1):
        shown = outcome.to_mapping()
        for path, name in names.items():
            # People know their file by the name they gave it; where it lay on disk is nobody's business.
            shown["path"] = shown["path"].replace(path, name)
            shown["error"] = shown["error"].replace(path, name)
        if not note_import_progress(job, done, len(files), shown):
            return JobStatus.CANCELLED
    return JobStatus.DONE
