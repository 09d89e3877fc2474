"""JSON values out of bytes: one per line, or one per file.

Lines end at the byte \\n and nowhere else: U+2028, U+0085, form feeds and vertical tabs are text. A line that can't be
read is counted with its number and reason and never stops the reading. Every value that leaves here can be stored: NULs
and lone surrogates are replaced, and counted too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from compaction.errors import InvalidInput, InvalidSource
from compaction.formats.events import Problem, ProblemKind
from compaction.storable import is_storable, json_text, storable_value
from compaction.wording import worded

MAX_LINE_BYTES = 64 << 20
MAX_DOCUMENT_BYTES = 512 << 20
_BOM = b"\xef\xbb\xbf"
_WIDE_STARTS = (b"\xff\xfe", b"\xfe\xff", b"{\x00", b"[\x00", b"\x00{", b"\x00[")

Report = Callable[[Problem], None]


class Line(NamedTuple):
    """A line's bytes without its end. `number` is 1-based; `offset` is where the line begins in the file."""

    number: int
    offset: int
    data: bytes


class JsonLine(NamedTuple):
    """An object that stood alone on a line. `raw` is its JSON text, fit for storing."""

    number: int
    offset: int
    value: dict[str, object]
    raw: str


@dataclass(frozen=True, slots=True)
class ParsedJson:
    """A value, its text, and whether characters had to be replaced."""

    value: object
    raw: str
    was_replaced: bool


def refuse_wide_text(start: bytes, label: str) -> None:
    """Raise InvalidSource when a file that begins with `start` is UTF-16 text."""
    if start.startswith(_WIDE_STARTS):
        raise InvalidSource(worded("the file is UTF-16 text; save it as UTF-8 and import it again"), label)


def read_lines(stream: BinaryIO) -> Iterator[Line]:
    """All lines from the start of `stream`. The data of a line longer than MAX_LINE_BYTES is cut to one byte more."""
    stream.seek(0)
    number = offset = 0
    while data := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        length = len(data)
        while not data.endswith(b"\n") and length > MAX_LINE_BYTES and (rest := stream.readline(MAX_LINE_BYTES)):
            length += len(rest)
            if rest.endswith(b"\n"):
                break
        text = data.removesuffix(b"\n").removesuffix(b"\r")
        yield Line(number, offset, text.removeprefix(_BOM) if number == 1 else text)
        offset += length


def parse_json(data: bytes) -> ParsedJson:
    """The JSON value in `data`. Raises InvalidInput with a reason for people; bad UTF-8 is replaced."""
    text = data.decode("utf-8", "replace").strip()
    was_decoded = "\ufffd" not in text or b"\xef\xbf\xbd" in data
    try:
        value = json.loads(text, strict=False)
        if "\\u" not in text and is_storable(text):
            return ParsedJson(value, text, not was_decoded)
        clean = storable_value(value)
    except RecursionError:
        raise InvalidInput(worded("it is nested too deeply")) from None
    except json.JSONDecodeError as error:
        raise InvalidInput(worded("it is no JSON: {} (character {})", error.msg, error.pos + 1)) from None
    is_same = clean is value and is_storable(text)
    return ParsedJson(clean, text if is_same else json_text(clean), not is_same or not was_decoded)


class JsonLineReader:
    """The objects of a line-delimited file, with every oddity told to `report`.

    `is_damaged` says, once a pass has been made, whether a line in the middle could not be read. Each `objects()` call
    reads the file again from its start.
    """

    def __init__(self, stream: BinaryIO, report: Report) -> None:
        self._stream = stream
        self._report = report
        self.is_damaged = False
        self.lines = 0

    def objects(self) -> Iterator[JsonLine]:
        """One value per line that holds a JSON object."""
        broken: Problem | None = None
        for line in read_lines(self._stream):
            self.lines = line.number
            stripped = line.data.strip()
            if not stripped:
                continue
            if broken is not None:
                self.is_damaged = True
                self._report(broken)
                broken = None
            parsed = self._parse(line, stripped)
            if isinstance(parsed, Problem):
                broken = parsed
            elif parsed is not None:
                yield parsed
        if broken is not None:
            self._report(Problem(ProblemKind.TRUNCATED_LAST_LINE, broken.detail, broken.line))

    def value_at(self, offset: int) -> dict[str, object]:
        """The object on the line at `offset`, which was read before. The place of the reading is not lost."""
        place = self._stream.tell()
        self._stream.seek(offset)
        value = parse_json(self._stream.readline().removeprefix(_BOM)).value
        self._stream.seek(place)
        return value if isinstance(value, dict) else {}

    def _parse(self, line: Line, stripped: bytes) -> JsonLine | Problem | None:
        if stripped.startswith((b"//", b"#")):
            self._report(Problem(ProblemKind.COMMENT_LINE, excerpt(stripped), line.number))
            return None
        if len(line.data) > MAX_LINE_BYTES:
            return Problem(
                ProblemKind.UNPARSABLE_LINE, worded("it is longer than {:,} bytes", MAX_LINE_BYTES), line.number
            )
        try:
            parsed = parse_json(line.data)
        except InvalidInput as error:
            return Problem(ProblemKind.UNPARSABLE_LINE, error.said, line.number)
        if not isinstance(parsed.value, dict):
            self._report(Problem(ProblemKind.NOT_AN_OBJECT, excerpt(stripped), line.number))
            return None
        if parsed.was_replaced:
            detail = worded("a character that can't be stored was replaced")
            self._report(Problem(ProblemKind.REPLACED_CHARACTER, detail, line.number, skipped=False))
        return JsonLine(line.number, line.offset, parsed.value, parsed.raw)


def read_document(stream: BinaryIO, label: str) -> ParsedJson:
    """The one JSON value of a file. Raises InvalidSource, naming the place, when there is none or it is too large."""
    stream.seek(0)
    data = stream.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        raise InvalidSource(
            worded("a single JSON value of more than {:,} bytes is not read", MAX_DOCUMENT_BYTES), label
        )
    try:
        return parse_json(data.removeprefix(_BOM))
    except InvalidInput as error:
        raise InvalidSource(error.said, label) from None


def excerpt(data: bytes, length: int = 120) -> str:
    """The beginning of some bytes as text for people."""
    text = data[: 4 * length].decode("utf-8", "replace").replace("\x00", "\ufffd")
    return text if len(text) <= length else text[:length] + "…"
