"""A table as a CSV file that is streamed, so that its length costs no memory."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

from django.http import StreamingHttpResponse

# A spreadsheet takes a text that begins like this for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_answer(name: str, lines: Iterable[Sequence[object]]) -> StreamingHttpResponse:
    """The lines as a file of this name. None is an empty cell."""
    writer = csv.writer(_Echo())
    written = (writer.writerow([_cell(value) for value in line]) for line in lines)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(written, content_type="text/csv; charset=utf-8", headers=headers)


def _cell(value: object) -> object:
    """A text that no spreadsheet runs."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_STARTS) else value


class _Echo:
    """A file that hands a line back instead of keeping it."""

    def write(self, line: str) -> str:
        return line
