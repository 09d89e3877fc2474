"""The files of this checkout, as the raw material of the samples. Reads; never writes, never asks git.

The idea: a story names files and symbols that other people rename. Nothing breaks when they do: the nearest name
stands in, and `missing` tells the writer of the story what to mend.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("compaction", "docs", "hermes_site", "scripts", "sessions_app", "static", "templates", "tests")
SUFFIXES: Final = frozenset({".css", ".html", ".js", ".md", ".py", ".toml", ".txt"})
# The samples must not quote themselves, data is no source, and what others wrote is not ours to show.
LEFT_OUT: Final = ("sessions_app/samples/", "tests/sessions_app/samples/", "tests/data/", "static/vendor/")
LONGEST_LINE: Final = 200

NAMES: Final = frozenset({"LICENSE", "Makefile"})

# Functions and classes; constants; fields of a class.
_SYMBOL: Final = re.compile(r"^(\s*)(?:(?:async def|def|class) (\w+)|([A-Z_]{3,})(?=[ :=])|([a-z_]+): .* = .*[^,]$)")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function, class, constant or field; `line` is 1-based."""

    name: str
    line: int
    indent: int


@dataclass(frozen=True)
class SourceFile:
    """One text file: its path from the root of the checkout, and its lines without their ends."""

    path: str
    lines: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        """All lines in one."""
        return "\n".join(self.lines)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Functions, classes, constants and fields in order; empty for anything but Python."""
        found = ((number, _SYMBOL.match(line)) for number, line in enumerate(self.lines, 1))
        return tuple(
            Symbol(match[2] or match[3] or match[4], number, len(match[1])) for number, match in found if match
        )

    def symbol(self, name: str) -> Symbol | None:
        """The symbol of that name, else the one most like it, else None when the file has none."""
        exact = next((symbol for symbol in self.symbols if symbol.name == name), None)
        return exact or max(self.symbols, key=lambda symbol: likeness(symbol.name, name), default=None)


@dataclass(frozen=True, slots=True)
class Hit:
    """One line that a search found; `line` is 1-based."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Edited:
    """Lines that a session has added to a file, and taken out of it."""

    added: int
    removed: int


class Checkout:
    """All text files below a root. `missing` collects what stories asked for and did not find.

    A session edits its own working copy: files in memory. `original` still answers with what is on disk.
    """

    def __init__(self, root: Path = ROOT, *, copy_of: Checkout | None = None) -> None:
        on_disk = copy_of.files if copy_of else {file.path: file for file in read_files(root)}
        self.files: dict[str, SourceFile] = dict(on_disk)
        self._on_disk: dict[str, SourceFile] = dict(on_disk)
        self.missing: set[str] = copy_of.missing if copy_of else set()
        self.edits: dict[str, Edited] = {}

    def working_copy(self, without: Sequence[str] = ()) -> Checkout:
        """The same files, to be edited, but for some that are to seem not to exist."""
        copy = Checkout(copy_of=self)
        for path in without:
            copy.files.pop(path, None)
        return copy

    def write(self, path: str, lines: Sequence[str]) -> None:
        """Give the working copy a file, or a file other lines."""
        self.files[path] = SourceFile(path, tuple(lines))

    def edit(self, path: str, lines: Sequence[str], added: int, removed: int) -> None:
        """Change a file as a session does: the edit is counted."""
        self.write(path, lines)
        before = self.edits.get(path, Edited(0, 0))
        self.edits[path] = Edited(before.added + added, before.removed + removed)

    def original(self, path: str) -> SourceFile:
        """The file on disk, by the same rules as `file`."""
        return self._on_disk.get(path) or self.file(path)

    def file(self, path: str) -> SourceFile:
        """The file at `path`; when it is gone, the most similar one."""
        if path in self.files:
            return self.files[path]
        self.missing.add(path)
        if not self.files:
            return SourceFile(path, ("# (empty)",))
        return self.files[max(sorted(self.files), key=lambda other: likeness(other, path))]

    def symbol(self, path: str, name: str) -> Symbol:
        """The symbol `name` of the file at `path`; when it is gone, the most similar one."""
        symbol = self.file(path).symbol(name)
        if symbol is None or symbol.name != name:
            self.missing.add(f"{path} {name}")
        return symbol or Symbol(name, 1, 0)

    def below(self, folder: str) -> tuple[SourceFile, ...]:
        """Files in `folder` and below it, or the one file of that path; all files for "."."""
        prefix = "" if folder == "." else folder.rstrip("/") + "/"
        return tuple(file for path, file in self.files.items() if path.startswith(prefix) or path == folder)

    def search(self, pattern: str, folder: str) -> tuple[Hit, ...]:
        """Lines that match the regular expression, in order of path and line."""
        expression = re.compile(pattern, re.MULTILINE)
        return tuple(
            Hit(file.path, number, line)
            for file in self.below(folder)
            if expression.search(file.text)
            for number, line in enumerate(file.lines, 1)
            if expression.search(line)
        )


def likeness(one: str, other: str) -> float:
    """How alike two names are, from 0 to 1."""
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def read_files(root: Path) -> Iterator[SourceFile]:
    """All files that may be quoted, in order of path."""
    top = [path for path in root.iterdir() if path.is_file()]
    nested = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file()]
    for path in sorted(top + nested):
        name = path.relative_to(root).as_posix()
        if (path.suffix in SUFFIXES or path.name in NAMES) and not name.startswith(LEFT_OUT):
            yield SourceFile(name, read_lines(path))


def read_lines(path: Path) -> tuple[str, ...]:
    """The file's lines; one too long to read is cut, as tools do."""
    lines = path.read_text(encoding="utf-8", errors="replace").rstrip("\n").split("\n")
    return tuple(line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} [...]" for line in lines)
