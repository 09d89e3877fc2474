"""Hits of a search as pages show them: a snippet with the words marked, and the place to open.

The text of a hit is read as far as it is indexed, and no further, for the few hits that a page shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import F, JSONField, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import Left, Right
from django.http import QueryDict
from django.urls import reverse

from compaction.messages import RowKind
from sessions_app.models import MessageRow, PassKind, SummaryRevision
from sessions_app.search.query import SearchQuery
from sessions_app.search.snippet import Snippet, snippet_of
from sessions_app.search.vector import FIRST_CHARS, LAST_CHARS, part_texts, row_texts

_CALLS_SQL: Final = """
(SELECT jsonb_agg(jsonb_build_object('id', call ->> 'id', 'name', call ->> 'name',
    'arguments', left(call ->> 'arguments', %s)) ORDER BY place)
FROM jsonb_array_elements(tool_calls) WITH ORDINALITY AS listed(call, place))
"""
_PARTS_SQL: Final = """
(SELECT jsonb_agg(jsonb_build_object('part', 'text', 'text', left(part ->> 'text', %s)) ORDER BY place)
FROM jsonb_array_elements(parts) WITH ORDINALITY AS listed(part, place) WHERE part ->> 'part' = 'text')
"""


@dataclass(frozen=True, slots=True)
class HitRow:
    """A hit. label: whose row it is; summary_number: the version, where it is a summary; text_char: where in the row's
    own text the hit lies, None when it lies elsewhere, as in the arguments of a call."""

    row_id: int
    position: int
    label: str
    is_archived: bool
    pass_number: int | None
    summary_number: int | None
    snippet: Snippet | None
    text_char: int | None
    address: str


def read_hit_rows(row_ids: Iterable[int], query: SearchQuery) -> dict[int, HitRow]:
    """The hits with these row ids, in two queries."""
    found = list(_cut(MessageRow.objects.filter(id__in=list(row_ids))))
    versions = _versions([row for row in found if RowKind(row.kind).is_summary])
    return {row.id: _hit(row, versions.get(row.id), query) for row in found}


def _cut(rows: QuerySet[MessageRow]) -> Iterable[Any]:
    return rows.annotate(
        first_text=Left("content", FIRST_CHARS),
        last_text=Right("content", LAST_CHARS),
        light_parts=RawSQL(_PARTS_SQL, [FIRST_CHARS], output_field=JSONField()),
        light_calls=RawSQL(_CALLS_SQL, [FIRST_CHARS], output_field=JSONField()),
        thoughts=Left("reasoning", FIRST_CHARS),
        public_id=F("session__public_id"),
        pass_number=F("archived_by__number"),
        pass_kind=F("archived_by__kind"),
    ).values_list(
        *("id", "session_id", "position", "kind", "role", "died_seq", "first_text", "last_text", "light_parts"),
        *("light_calls", "thoughts", "name", "tool_call_id", "public_id", "pass_number", "pass_kind"),
        named=True,
    )


def _versions(rows: Sequence[Any]) -> dict[int, int]:
    if not rows:
        return {}
    sessions, ids = {row.session_id for row in rows}, [row.id for row in rows]
    found = SummaryRevision.objects.filter(session_id__in=sessions, row_id__in=ids)
    return {int(row_id): number for row_id, number in found.values_list("row_id", "number") if row_id is not None}


def _hit(row: Any, version: int | None, query: SearchQuery) -> HitRow:
    is_summary = RowKind(row.kind).is_summary
    own_texts = [text for text in (row.first_text, *part_texts(row.light_parts)) if text]
    snippet = snippet_of(own_texts, query.wanted)
    text_char = snippet.first_char if snippet is not None and row.first_text else None
    if snippet is None:
        others = row_texts(None, None, row.light_calls, row.thoughts, row.name, row.tool_call_id)
        snippet = snippet_of([*([row.last_text] if row.last_text else []), *others], query.wanted)
    return HitRow(
        row_id=row.id,
        position=row.position,
        label="summary" if is_summary else row.role,
        is_archived=row.died_seq is not None,
        pass_number=row.pass_number,
        summary_number=version,
        snippet=snippet,
        text_char=text_char,
        address=_address(row, version, query),
    )


def _address(row: Any, version: int | None, query: SearchQuery) -> str:
    """Where the hit is read: in the transcript, or in the history of the summary it is a version of."""
    if version is not None and row.died_seq is not None:
        return reverse("summary", args=[row.public_id, version])
    if row.pass_kind == PassKind.PRUNE:
        return reverse("row_text", args=[row.public_id, row.id])
    anchor = f"v{version}" if version is not None else f"r{row.position}"
    return f"{reverse('session', args=[row.public_id])}?{find_parameters(query.text, row.position)}#{anchor}"


def find_parameters(words: str, position: int | None) -> str:
    """The parameters of a session's page that looks for `words`, at a row."""
    parameters = QueryDict(mutable=True)
    parameters["find"] = words
    if position is not None:
        parameters["row"] = str(position)
    return parameters.urlencode()
