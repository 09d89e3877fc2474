"""Which reader reads which format."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compaction.errors import InvalidSource
from compaction.formats.claude_code import read_claude_code
from compaction.formats.detect import LABELS, Format, detect
from compaction.formats.events import ImportReport, SourceSession
from compaction.formats.hermes_export import read_hermes_export
from compaction.formats.hermes_snapshot import read_hermes_snapshot
from compaction.formats.hermes_state import read_hermes_state
from compaction.formats.hermes_transcript import read_hermes_transcript
from compaction.formats.openai_chat import read_openai_chat
from compaction.formats.own_export import read_own_export
from compaction.formats.source_file import SourceFile
from compaction.wording import worded

Reader = Callable[[SourceFile, ImportReport], Iterator[SourceSession]]

READERS: dict[Format, Reader] = {
    Format.OWN_EXPORT: read_own_export,
    Format.HERMES_STATE: read_hermes_state,
    Format.HERMES_EXPORT: read_hermes_export,
    Format.HERMES_SNAPSHOT: read_hermes_snapshot,
    Format.HERMES_TRANSCRIPT: read_hermes_transcript,
    Format.OPENAI_CHAT: read_openai_chat,
    Format.CLAUDE_CODE: read_claude_code,
}


def read_sessions(file: SourceFile, name: str, report: ImportReport) -> Iterator[SourceSession]:
    """The sessions of `file`, read as the format called `name`, or as what its content shows ("auto")."""
    found = detect(file) if name == "auto" else _named(name)
    report.format = found.value
    reader = READERS.get(found)
    if reader is None:
        raise InvalidSource(worded("recognised as {}; this format can't be read yet", LABELS[found]), file.label)
    yield from reader(file, report)


def _named(name: str) -> Format:
    try:
        return Format(name)
    except ValueError:
        known = ", ".join(sorted(known.value for known in READERS))
        raise InvalidSource(worded("there is no format called {!r}; known are {}", name, known)) from None
