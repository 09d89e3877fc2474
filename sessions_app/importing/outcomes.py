"""What came of an import, for the command line, the import page and the session's own report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from compaction.formats.events import ImportReport, Problem

MOST_LEFT_OUT_NAMES: Final = 50


@dataclass(slots=True)
class SessionImport:
    """One session of a file, counted as the import goes on. `problems` are those of folding, not of reading."""

    foreign_id: str
    public_id: str = ""
    title: str = ""
    is_new: bool = False
    rows_added: int = 0
    rows_present: int = 0
    passes_added: int = 0
    passes_present: int = 0
    rows_archived: int = 0
    rows_rewound: int = 0
    problems: list[Problem] = field(default_factory=list)

    def forget_counts(self) -> None:
        """Begin to count again, after what was counted was taken back."""
        self.rows_added = self.rows_present = self.passes_added = self.passes_present = 0
        self.rows_archived = self.rows_rewound = 0

    @property
    def has_changed(self) -> bool:
        """Whether anything was stored."""
        return bool(self.is_new or self.rows_added or self.passes_added or self.rows_rewound)

    def to_mapping(self) -> dict[str, Any]:
        """The figures as JSON data."""
        return {
            "session": self.public_id,
            "foreign_id": self.foreign_id,
            "title": self.title,
            "is_new": self.is_new,
            "rows_added": self.rows_added,
            "rows_present": self.rows_present,
            "passes_added": self.passes_added,
            "passes_present": self.passes_present,
            "rows_archived": self.rows_archived,
            "rows_rewound": self.rows_rewound,
            "problems": [problem_mapping(problem) for problem in self.problems],
        }


@dataclass(slots=True)
class FileImport:
    """One file. `error` says in one line why nothing, or nothing more, could be read; empty when all was read.

    left_out: names of entries of its archive that nobody looked at, told with the archive's last file.
    """

    report: ImportReport
    sessions: list[SessionImport] = field(default_factory=list)
    error: str = ""
    left_out: tuple[str, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        """The whole outcome as JSON data."""
        return {
            "path": self.report.path,
            "error": self.error,
            **report_mapping(self.report),
            "sessions": [session.to_mapping() for session in self.sessions],
            "left_out": {"names": list(self.left_out[:MOST_LEFT_OUT_NAMES]), "total": len(self.left_out)},
        }


def report_mapping(report: ImportReport) -> Mapping[str, Any]:
    """What was met while reading a file, as JSON data: skipped lines by reason, with the first line numbers of each."""
    return {
        "format": report.format,
        "lines": report.lines,
        "skipped_lines": report.skipped_lines,
        "counts": {kind.value: count for kind, count in report.counts.items()},
        "skipped_counts": {kind.value: count for kind, count in report.skipped_counts.items()},
        "problems": [problem_mapping(problem) for problem in report.problems],
    }


def problem_mapping(problem: Problem) -> dict[str, Any]:
    """One oddity as JSON data."""
    return {
        "kind": problem.kind.value,
        "detail": problem.detail,
        "line": problem.line,
        "skipped": problem.skipped,
    }
