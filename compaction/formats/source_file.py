"""One file to read: on disk, or an entry of a ZIP archive.

An entry is read as a stream into an anonymous temporary file and is never written under its own name, so a name inside
an archive can't choose a place on disk. A file that must not be read carries its refusal: opening it raises the
sentence, so whoever walks a list of files meets refusals one by one and can go on.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from compaction.errors import InvalidSource
from compaction.wording import Wording, worded

MAX_ENTRY_BYTES = 1 << 30
_IN_MEMORY_BYTES = 8 << 20
_READ_ERRORS = (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, KeyError, EOFError)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`path` on disk; `entry` is the name inside the archive at `path`. `refusal` says why it must not be read.

    left_out: names of entries of the same archive that nobody looks at, told with the last of its files.
    """

    path: Path
    entry: str | None = None
    refusal: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The file's name for people."""
        return str(self.path) if self.entry is None else f"{self.path}: {self.entry}"

    @property
    def name(self) -> str:
        """The last part of the file's name."""
        return self.path.name if self.entry is None else PurePosixPath(self.entry).name

    @property
    def stem(self) -> str:
        """The name without its last extension."""
        return PurePosixPath(self.name).stem

    def open(self) -> BinaryIO:
        """The bytes, seekable. Raises InvalidSource when the file is refused or can't be read."""
        if self.refusal:
            raise InvalidSource(self.refusal, self.label)
        try:
            return self.path.open("rb") if self.entry is None else _spool(self.path, self.entry)
        except _READ_ERRORS as error:
            raise InvalidSource(worded("the file can't be read: {}", _why(error)), self.label) from error

    def head(self, size: int) -> bytes:
        """The first bytes, without unpacking the rest. Raises InvalidSource as `open` does."""
        if self.refusal or self.entry is None:
            with self.open() as stream:
                return stream.read(size)
        try:
            with zipfile.ZipFile(self.path) as opened, opened.open(self.entry) as packed:
                return packed.read(size)
        except _READ_ERRORS as error:
            raise InvalidSource(worded("the file can't be read: {}", _why(error)), self.label) from error

    def neighbours(self, folder: str, pattern: str) -> Iterator[SourceFile]:
        """Files matching `pattern` in `folder`, given relative to this file's folder, in order of their names."""
        if self.entry is None:
            found = sorted((self.path.parent / folder).glob(pattern))
            yield from (SourceFile(path) for path in found if path.is_file() and not path.is_symlink())
            return
        wanted = PurePosixPath(self.entry).parent / folder
        for name in sorted(_names(self.path)):
            if PurePosixPath(name).parent == wanted and PurePosixPath(name).match(pattern):
                yield SourceFile(self.path, name)


def _why(error: Exception) -> str:
    """What an error says; a wording stays one."""
    said = error.args[0] if len(error.args) == 1 else ""
    return said if isinstance(said, Wording) else str(error)


def _names(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as opened:
        return opened.namelist()


def _spool(archive: Path, entry: str) -> BinaryIO:
    spooled: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 - the caller closes it
    with zipfile.ZipFile(archive) as opened, opened.open(entry) as stream:
        shutil.copyfileobj(_Limited(stream, MAX_ENTRY_BYTES), spooled, 1 << 20)
    spooled.seek(0)
    return spooled  # type: ignore[return-value]  # a spooled file is a BinaryIO in all but name


class StreamKeeper:
    """Opens one file again and again: an archive's entry is unpacked once and kept, a file on disk closed each time."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self._kept: BinaryIO | None = None

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file's bytes from the start. Raises InvalidSource as `SourceFile.open` does."""
        if self.file.entry is None:
            with self.file.open() as stream:
                yield stream
            return
        if self._kept is None:
            self._kept = self.file.open()
        self._kept.seek(0)
        yield self._kept

    def line_at(self, offset: int) -> bytes:
        """The line that begins at `offset`, with its end but without a byte order mark."""
        with self.opened() as stream:
            stream.seek(offset)
            return stream.readline().removeprefix(b"\xef\xbb\xbf")


class _Limited(io.RawIOBase):
    """Reads from `stream` until `limit` bytes have come, then refuses: a declared size is only a claim."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream = stream
        self._left = limit

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise OSError(worded("it is larger than {:,} bytes when unpacked", MAX_ENTRY_BYTES))
        return data
