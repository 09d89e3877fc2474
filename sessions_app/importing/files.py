"""Files and folders into sessions: reads each with its format, imports session by session, and tells what came of it.

A file that can't be read, or breaks in the middle, never takes others with it: its error stands in its outcome and
the sessions before it stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from compaction.errors import InvalidInput
from compaction.formats import open_source
from compaction.formats.events import ImportReport
from compaction.formats.source_file import SourceFile
from compaction.formats.source_paths import iter_source_paths
from compaction.tokens import TokenCounter
from compaction.wording import reworded
from sessions_app.importing.linking import link_parents
from sessions_app.importing.outcomes import FileImport, report_mapping
from sessions_app.importing.sessions import import_session
from sessions_app.mapping import storable_json
from sessions_app.models import Project, Session

Tell = Callable[[FileImport], None]


def import_paths(
    paths: Iterable[Path], project: Project, counter: TokenCounter, format_name: str = "auto"
) -> Iterator[FileImport]:
    """Import every transcript that `paths` name, one outcome per file as it is done; parents are linked at the end."""
    return import_files(iter_source_paths(paths), project, counter, format_name)


def import_files(
    files: Iterable[SourceFile], project: Project, counter: TokenCounter, format_name: str = "auto"
) -> Iterator[FileImport]:
    """Import the sessions of single files, as `import_paths` does."""
    for file in files:
        yield import_file(file, project, counter, format_name)
    link_parents(project)


def import_file(file: SourceFile, project: Project, counter: TokenCounter, format_name: str = "auto") -> FileImport:
    """Import all sessions of one file."""
    outcome = FileImport(ImportReport(file.label), left_out=file.left_out)
    try:
        for source in open_source(file, format=format_name, report=outcome.report):
            outcome.sessions.append(import_session(project, source, counter))
    except (InvalidInput, OSError) as error:
        outcome.error = reworded(error.said if isinstance(error, InvalidInput) else str(error), _on_one_line)
    _keep_report(outcome)
    return outcome


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _keep_report(outcome: FileImport) -> None:
    """Store with each session that changed what was met while reading its file."""
    shared = report_mapping(outcome.report)
    for session in outcome.sessions:
        if session.has_changed:
            Session.objects.filter(public_id=session.public_id).update(
                import_report=storable_json(
                    {**shared, "path": Path(outcome.report.path).name, "session": session.to_mapping()}
                )
            )
