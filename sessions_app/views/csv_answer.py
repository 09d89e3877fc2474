"""A table as a CSV file that is streamed, so that its length costs no memory."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

from django.http import HttpRequest, StreamingHttpResponse

from sessions_app.streaming import streamed

# A spreadsheet takes a text that begins like this for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_answer(request: HttpRequest, name: str, lines: Iterable[Sequence[object]]) -> StreamingHttpResponse:
    """The lines as a file of this name. None is an empty cell. What makes the lines holds nothing between two."""
    writer = csv.writer(_Echo())
    written = (writer.writerow([_cell(value) for value in line]).encode() for line in lines)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(streamed(request, written), content_type="text/csv; charset=utf-8", headers=headers)


def _cell(value: object) -> object:
    """A text that no spreadsheet runs."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value


class _Echo:
    """A file that hands a line back instead of keeping it."""

    def write(self, line: str) -> str:
        return line
