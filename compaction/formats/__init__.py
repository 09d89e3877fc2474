"""Reading foreign transcripts: one module per format, one way in.

`iter_source_paths` says which files a list of paths means; `open_source` reads one of them. Formats are told apart by
content. Everything found odd goes into an `ImportReport`; only a file that is no transcript at all is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from compaction.formats.events import ImportReport, SourceSession
from compaction.formats.source_file import SourceFile
from compaction.formats.source_paths import iter_source_paths

__all__ = ["SourceFile", "iter_source_paths", "open_source"]


def open_source(
    path: str | Path | SourceFile, *, format: str = "auto", report: ImportReport
) -> Iterator[SourceSession]:
    """The sessions in one file, parents before children.

    path: a file on disk, or what `iter_source_paths` gave. format: "auto", or a name of `detect.Format`.
    report: collects problems while sessions and their events are read; its format is filled in.
    Raises InvalidSource when the file is refused, is of no known format, of one that can't be read yet, or is broken
    beyond its first record. Problems of a session's rows are told when its events are first asked for.
    """
    # Imported here, not above: the readers need `compaction.wire`, which needs `events` of this package.
    from compaction.formats.readers import read_sessions

    file = path if isinstance(path, SourceFile) else SourceFile(Path(path))
    return read_sessions(file, format, report)
