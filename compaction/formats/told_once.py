"""Telling the import report what was odd, with the place, and only once.

A session's events can be asked for again and again and give the same events and the same problems each time; the report
must count each problem once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compaction.formats.events import ImportReport, Problem, ProblemKind
from compaction.wording import worded


class Tell:
    """A listener for problems that knows where the reader is: a line number, or words like "message 7"."""

    def __init__(self, add: Callable[[Problem], None], line: int | None = None, where: str = "") -> None:
        self._add = add
        self._line = line
        self._where = where

    def __call__(self, problem: Problem) -> None:
        """Pass on a problem with the place added."""
        detail = worded("{}: {}", self._where, problem.detail) if self._where else problem.detail
        self._add(replace(problem, detail=detail, line=self._line if problem.line is None else problem.line))

    def note(self, kind: ProblemKind, detail: str) -> None:
        """Tell of an oddity that yields a row all the same."""
        self(Problem(kind, detail, skipped=False))

    def skip(self, kind: ProblemKind, detail: str) -> None:
        """Tell of a record that yields no row."""
        self(Problem(kind, detail))

    def at(self, line: int | None = None, where: str = "") -> Tell:
        """A listener for another place; what is not given stays as it was."""
        return Tell(self._add, self._line if line is None else line, where or self._where)


SILENT = Tell(lambda problem: None)


class ToldOnce:
    """Passes on to `report` each problem that an earlier replay has not told yet."""

    def __init__(self, report: ImportReport) -> None:
        self._report = report
        self._told = 0

    def replay(self) -> Tell:
        """A listener for one replay."""
        count = 0

        def add(problem: Problem) -> None:
            nonlocal count
            count += 1
            if count > self._told:
                self._told = count
                self._report.add(problem)

        return Tell(add)
