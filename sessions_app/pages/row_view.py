"""One row as the transcript shows it: its words as HTML, its calls with their results, its pictures as placeholders.

Results are shown where they were asked for: `view_rows` folds each tool row into the call it answers and leaves alone
what answers nothing. Long texts come cut; the rest is loaded on demand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from compaction.messages import Role, RowKind
from sessions_app.pages.row_source import CutText, SourceCall, SourcePart, SourceRow
from sessions_app.rendering.code import highlighted_output
from sessions_app.rendering.markdown import render_markdown, without_terminal_codes

SHOWN_CHARS = 3_000
SHOWN_SYSTEM_CHARS = 700
SHOWN_LINES = 80
SHORT_RESULT_CHARS = 1_500
SHORT_RESULT_LINES = 60
ARGUMENT_LINE_CHARS = 160
MARKDOWN_ROLES = frozenset({Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.DEVELOPER})


@dataclass(frozen=True, slots=True)
class PictureView:
    """A picture that is not loaded: its type, its size as far as it can be told, and the part it stands in."""

    part_number: int
    media_type: str
    size_bytes: int | None
    is_remote: bool


@dataclass(frozen=True, slots=True)
class ResultView:
    """What a tool gave back. is_short: the text is printed with the page; otherwise it is loaded when opened.

    html: the text with its parts marked, where it is of a kind that is known.
    """

    row: SourceRow
    text: str
    html: SafeString | None
    is_short: bool
    pictures: tuple[PictureView, ...]

    @property
    def position(self) -> int:
        return self.row.position


@dataclass(frozen=True, slots=True)
class CallView:
    """A tool call. line: its arguments in one line; arguments: all of them, laid out, cut."""

    name: str
    line: str
    arguments: str
    is_cut: bool
    result: ResultView | None


@dataclass(frozen=True, slots=True)
class RowView:
    """A row ready to print. tokens: its own and those of the results folded into it."""

    row: SourceRow
    html: SafeString | None
    plain: str
    more_chars: int
    calls: tuple[CallView, ...]
    pictures: tuple[PictureView, ...]
    other_parts: tuple[str, ...]
    tokens: int
    label: str

    @property
    def anchor(self) -> str:
        """The row's id on the page; a stub stands beside its original, which has the same number."""
        return f"r{self.row.position}" + ("-stub" if self.row.kind is RowKind.PRUNE_STUB else "")

    @property
    def is_user(self) -> bool:
        return self.row.role is Role.USER

    @property
    def is_stub(self) -> bool:
        return self.row.kind is RowKind.PRUNE_STUB

    @property
    def is_injected(self) -> bool:
        """Whether a user row was not written by a person."""
        return self.is_user and not self.row.by_person

    @property
    def has_tags(self) -> bool:
        """Whether something about the row is said in front of its words."""
        return self.is_injected or self.is_stub or self.row.is_repaired or self.row.is_interrupted

    @property
    def last_position(self) -> int:
        """The greatest position among the row and its folded results."""
        results = [call.result.position for call in self.calls if call.result]
        return max([self.row.position, *results])


def view_rows(rows: Sequence[SourceRow]) -> list[RowView]:
    """The rows in order with results folded into their calls. Only results behind their call are folded, each once,
    and only while nothing but results lies between."""
    views: list[RowView] = []
    index = 0
    while index < len(rows):
        row = rows[index]
        results = list(results_behind(rows, index)) if row.calls else []
        views.append(view_row(row, results))
        index += 1 + len(results)
    return views


def results_behind(rows: Sequence[SourceRow], index: int) -> Iterable[SourceRow]:
    """The tool rows right behind a row with calls that answer them."""
    wanted = {name for call in rows[index].calls for name in call.ids}
    for row in rows[index + 1 :]:
        if row.role is not Role.TOOL or row.tool_call_id not in wanted or row.is_live != rows[index].is_live:
            return
        yield row


def view_row(row: SourceRow, results: Sequence[SourceRow] = ()) -> RowView:
    """One row with the results that belong into it."""
    limit = SHOWN_SYSTEM_CHARS if row.role in (Role.SYSTEM, Role.DEVELOPER) else SHOWN_CHARS
    shown = cut_at_line(row.text.start, limit)
    is_markdown = row.role in MARKDOWN_ROLES
    return RowView(
        row=row,
        html=render_markdown(shown) if is_markdown and shown else None,
        plain="" if is_markdown else without_terminal_codes(shown),
        more_chars=max(row.text.chars - len(shown), 0),
        calls=tuple(view_call(call, results) for call in row.calls),
        pictures=pictures_of(row.parts),
        other_parts=tuple(part.type or "?" for part in row.parts if part.part == "other"),
        tokens=row.tokens + sum(result.tokens for result in results),
        label="summary" if row.is_summary else row.role.value,
    )


def cut_at_line(text: str, limit: int) -> str:
    """The text up to the last line break within `limit` characters, or up to the limit where there is none; never
    more than `SHOWN_LINES` lines."""
    lines = text.split("\n", SHOWN_LINES)
    if len(lines) > SHOWN_LINES:
        text = "\n".join(lines[:SHOWN_LINES])
    if len(text) <= limit:
        return text
    start = text[:limit]
    line_end = start.rfind("\n")
    return start[:line_end] if line_end > limit // 3 else start


def view_call(call: SourceCall, results: Sequence[SourceRow]) -> CallView:
    answer = next((row for row in results if row.tool_call_id in call.ids), None)
    return CallView(
        name=call.name,
        line=argument_line(call.arguments),
        arguments=laid_out(call.arguments),
        is_cut=call.arguments.is_cut,
        result=None if answer is None else view_result(answer),
    )


def view_result(row: SourceRow) -> ResultView:
    is_short = row.text.chars <= SHORT_RESULT_CHARS and row.lines <= SHORT_RESULT_LINES
    text = without_terminal_codes(row.text.start) if is_short else ""
    return ResultView(
        row=row,
        text=text,
        html=highlighted_output(text),
        is_short=is_short,
        pictures=pictures_of(row.parts),
    )


def argument_line(arguments: CutText) -> str:
    """Arguments in one line: the values of the first key, then `key=value`; text that is not JSON as it is."""
    try:
        value = None if arguments.is_cut else json.loads(arguments.start)
    except ValueError:
        value = None
    if isinstance(value, dict):
        words = [
            plain_value(item) if not number else f"{key}={plain_value(item)}"
            for number, (key, item) in enumerate(value.items())
        ]
        text = " ".join(words)
    else:
        text = arguments.start
    return " ".join(text[: 4 * ARGUMENT_LINE_CHARS].split())[:ARGUMENT_LINE_CHARS]


def plain_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def laid_out(arguments: CutText) -> str:
    """Arguments as indented JSON where they are JSON and complete, else as they are."""
    if arguments.is_cut:
        return arguments.start
    try:
        return json.dumps(json.loads(arguments.start), ensure_ascii=False, indent=2)
    except ValueError:
        return arguments.start


def pictures_of(parts: Sequence[SourcePart]) -> tuple[PictureView, ...]:
    return tuple(picture_of(part) for part in parts if part.part == "image")


def picture_of(part: SourcePart) -> PictureView:
    """What can be told of a picture from the beginning of its JSON."""
    media_type = "image"
    for known in ("image/png", "image/jpeg", "image/gif", "image/webp"):
        if known in part.raw_start:
            media_type = known
    is_remote = "http://" in part.raw_start or "https://" in part.raw_start
    return PictureView(part.number, media_type, None if is_remote else part.raw_chars * 3 // 4, is_remote)
