"""Which files a list of paths means: files, folders and ZIP archives become single files to read.

What must not be read is given out with its refusal, never dropped: a symbolic link, a pipe or device, a name that
climbs out of the archive, an encrypted entry, an entry that is too large or packed too tightly, an archive with too
much in it. Files that are read together with another one in the list (sub-agents of a session) are left out. Entries
of an archive whose names are no transcript's are not looked at, and named with the last of its files.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from compaction.formats.claude_agents import without_claimed
from compaction.formats.source_file import MAX_ENTRY_BYTES, SourceFile
from compaction.wording import worded

MAX_ENTRIES = 5_000
MAX_TOTAL_BYTES = 4 << 30
MAX_RATIO = 100
# Small entries may be packed as tightly as they like: they can't hurt.
_RATIO_FROM_BYTES = 1 << 20
CUT_ARCHIVE = worded("the ZIP archive is damaged: its end is missing, so it was probably cut off")
NO_TRANSCRIPT = worded("the ZIP archive holds no transcript")
_ENTRY_MARK = b"PK\x03\x04"
# A pipe would be waited for and a device read without end.
_NOT_REGULAR = worded("it is not a regular file")
_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json", ".db", ".sqlite", ".sqlite3", ".traj", ".zip"})


def iter_source_paths(paths: Iterable[str | Path]) -> Iterator[SourceFile]:
    """Every file that `paths` name, folders and archives expanded, in order of name within each."""
    for given in paths:
        path = Path(given)
        if path.is_dir():
            yield from without_claimed(list(_folder(path)))
        elif path.exists() and not path.is_file():
            yield SourceFile(path, refusal=_NOT_REGULAR)
        elif zipfile.is_zipfile(path):
            yield from _archive(path)
        elif _is_cut_archive(path):
            yield SourceFile(path, refusal=CUT_ARCHIVE)
        else:
            yield SourceFile(path)


def _is_cut_archive(path: Path) -> bool:
    """Whether a file begins like a ZIP archive; asked of files that have no archive's end."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(_ENTRY_MARK)) == _ENTRY_MARK
    except OSError:
        return False


def _folder(folder: Path) -> Iterator[SourceFile]:
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if not _is_transcript_name(name):
                continue
            if path.is_symlink():
                yield SourceFile(path, refusal=worded("it is a symbolic link; name the file it points to instead"))
            elif not path.is_file():
                yield SourceFile(path, refusal=_NOT_REGULAR)
            elif path.suffix.lower() == ".zip" and zipfile.is_zipfile(path):
                yield from _archive(path)
            elif _is_cut_archive(path):
                yield SourceFile(path, refusal=CUT_ARCHIVE)
            else:
                yield SourceFile(path)


def _is_transcript_name(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in _SUFFIXES and not name.endswith(".meta.json")


def _archive(path: Path) -> Iterator[SourceFile]:
    try:
        with zipfile.ZipFile(path) as opened:
            entries = [entry for entry in opened.infolist() if not entry.is_dir()]
    except (OSError, zipfile.BadZipFile) as error:
        yield SourceFile(path, refusal=worded("the archive can't be read: {}", str(error)))
        return
    if refusal := _refusal_of_archive(entries):
        yield SourceFile(path, refusal=refusal)
        return
    entries.sort(key=lambda entry: entry.filename)
    found = list(without_claimed([file for entry in entries for file in _entry(path, entry)]))
    *others, last = found or [SourceFile(path, refusal=NO_TRANSCRIPT)]
    yield from others
    yield replace(last, left_out=tuple(entry.filename for entry in entries if _is_left_out(entry)))


def _entry(path: Path, entry: zipfile.ZipInfo) -> Iterator[SourceFile]:
    if refusal := _refusal(entry):
        yield SourceFile(path, entry.filename, refusal)
    elif _is_transcript_name(entry.filename):
        yield SourceFile(path, entry.filename)


def _is_left_out(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry's name is no transcript's, and none of what is read beside one."""
    is_beside = entry.filename.endswith(".meta.json")
    return not (is_beside or _refusal(entry) or _is_transcript_name(entry.filename))


def _refusal_of_archive(entries: list[zipfile.ZipInfo]) -> str:
    if len(entries) > MAX_ENTRIES:
        return worded("the archive holds {:,} files; at most {:,} are read", len(entries), MAX_ENTRIES)
    total_bytes = sum(entry.file_size for entry in entries)
    if total_bytes > MAX_TOTAL_BYTES:
        return worded("the archive unpacks to {:,} bytes; at most {:,} are read", total_bytes, MAX_TOTAL_BYTES)
    return ""


def _refusal(entry: zipfile.ZipInfo) -> str:
    if stat.S_ISLNK(entry.external_attr >> 16):
        return worded("it is a symbolic link inside an archive, which is not followed")
    if _climbs(entry.orig_filename):
        return worded("its name points outside the archive, so it is not read")
    if entry.flag_bits & 1:
        return worded("it is encrypted; unpack the archive and import the file")
    if entry.file_size > MAX_ENTRY_BYTES:
        return worded("it unpacks to {:,} bytes; at most {:,} are read", entry.file_size, MAX_ENTRY_BYTES)
    if entry.file_size > _RATIO_FROM_BYTES and entry.file_size > MAX_RATIO * max(1, entry.compress_size):
        ratio = entry.file_size // max(1, entry.compress_size)
        return worded("it is packed {:,} to 1; more than {} to 1 is not read", ratio, MAX_RATIO)
    if entry.filename.lower().endswith(".zip"):
        return worded("it is an archive inside an archive; unpack it first")
    return ""


def _climbs(name: str) -> bool:
    """Whether the name is absolute, has a drive, or steps upwards, in either kind of slash."""
    parts = name.replace("\\", "/").split("/")
    return name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0] or "\x00" in name
