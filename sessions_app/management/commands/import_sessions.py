"""`manage.py import_sessions`: read transcript files into a project and say, file by file, what came of each."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compaction.formats.events import Problem
from compaction.tokens import counter_named
from compaction.vocabulary import VocabularyMissing
from sessions_app.import_jobs import note_import
from sessions_app.importing import FileImport, SessionImport, import_paths
from sessions_app.models import Project
from sessions_app.origins import command_origin
from sessions_app.services import ProjectShut, default_project, find_open_project

BAD_INPUT_STATUS = 2
# How many lines of one kind of problem are named before the rest is only counted.
LINES_SHOWN = 8


class Command(BaseCommand):
    """Import sessions; importing the same files again adds only what is new."""

    help = "Import transcript files, folders and ZIP archives of any known format into a project."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The arguments of the command; the names are an interface that scripts rely on."""
        parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder or a ZIP archive")
        parser.add_argument("--project", metavar="SLUG", help="the project to import into (default: the default one)")
        parser.add_argument("--format", default="auto", help="the files' format; auto looks at what is in them")
        parser.add_argument("--tokens", default="tiktoken", help="tiktoken or rough")
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="one JSON object per file, nothing else"
        )

    def handle(self, *_args: str, **options: Any) -> None:
        """Import, print, and end with status 2 and one line on stderr when something could not be read, or not to its
        end; what could be read is stored all the same."""
        paths = [Path(path) for path in options["paths"]]
        for path in paths:
            if not path.exists():
                raise _bad_input(f"{path}: no such file or folder")
        try:
            counter = counter_named(options["tokens"])
        except (ValueError, VocabularyMissing) as error:
            raise _bad_input(str(error)) from error
        project = _project(options["project"])
        outcomes: list[FileImport] = []
        is_whole = False
        try:
            self._import(paths, project, counter, options, outcomes)
            is_whole = True
        finally:
            if outcomes:
                note_import(project, paths, outcomes, command_origin("import_sessions"), is_whole=is_whole)
        failed = [outcome for outcome in outcomes if outcome.error]
        if failed:
            raise _bad_input(failure_text(failed, len(outcomes), is_told=not options["as_json"]))

    def _import(
        self, paths: list[Path], project: Project, counter: Any, options: dict[str, Any], outcomes: list[FileImport]
    ) -> None:
        for outcome in import_paths(paths, project, counter, options["format"]):
            text = json.dumps(outcome.to_mapping(), ensure_ascii=False) if options["as_json"] else file_text(outcome)
            self.stdout.write(text)
            outcomes.append(outcome)
        if not outcomes:
            raise _bad_input("there is no transcript file in " + ", ".join(str(path) for path in paths))


def _bad_input(message: str) -> CommandError:
    return CommandError(" ".join(message.split()), returncode=BAD_INPUT_STATUS)


def _project(slug: str | None) -> Project:
    try:
        found = default_project() if slug is None else find_open_project(slug)
    except ProjectShut as error:
        raise _bad_input(str(error)) from error
    if found is None:
        raise _bad_input(f"there is no project {slug!r}; this makes one: manage.py create_project {slug}")
    return found


def failure_text(failed: list[FileImport], files: int, *, is_told: bool) -> str:
    """The line about files that can't be read; is_told: each error stands in the output for people already."""
    if is_told:
        return f"{len(failed):,} of {files:,} files could not be read, or not to the end; the errors stand above"
    more = "" if len(failed) == 1 else f" (and {len(failed) - 1} more that can't be read)"
    return failed[0].error + more


def file_text(outcome: FileImport) -> str:
    """A file's outcome for people: its sessions, then what was skipped and why."""
    report = outcome.report
    lines = [f"{report.path} ({report.format or 'unknown format'})"]
    if outcome.error:
        lines.append(f"  error: {outcome.error}")
    lines += [f"  {session_text(session)}" for session in outcome.sessions]
    for kind, count in report.counts.items():
        named = [problem for problem in report.problems if problem.kind is kind]
        lines.append(f"  {count:,} {kind.value.replace('_', ' ')}{_places(named, count)}")
    if outcome.left_out:
        lines.append(f"  {len(outcome.left_out):,} left out by name: {', '.join(outcome.left_out[:LINES_SHOWN])}")
    for session in outcome.sessions:
        lines += [f"  note: {problem.detail}" for problem in session.problems]
    return "\n".join(lines)


def session_text(session: SessionImport) -> str:
    """One session's figures in one line."""
    parts = [f"{session.rows_added:,} rows added", f"{session.rows_present:,} already present"]
    passes = session.passes_added + session.passes_present
    if passes:
        parts.append(f"{passes:,} passes ({session.passes_added:,} new), {session.rows_archived:,} rows archived")
    if session.rows_rewound:
        parts.append(f"{session.rows_rewound:,} rewound")
    return f"{session.public_id} {session.title or session.foreign_id}: " + ", ".join(parts)


def _places(problems: list[Problem], count: int) -> str:
    """Where they are, as far as it is known, and what the first one says."""
    if not problems:
        return ""
    numbers = [str(problem.line) for problem in problems if problem.line is not None][:LINES_SHOWN]
    where = f", line {', '.join(numbers)}" if numbers else ""
    more = f" and {count - len(numbers):,} more" if numbers and count > len(numbers) else ""
    return f"{where}{more}: {problems[0].detail}"
