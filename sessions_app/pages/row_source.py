"""Rows of a session as pages read them: every text cut in the database, so that no row can blow a page up.

The cut start of a text travels with its full length; whoever wants the rest asks for it (`row_text`). Pictures never
leave the database here: a part says only what it is and how large.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Func, IntegerField, JSONField, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Left, Length

from compaction.messages import Role, RowKind
from sessions_app.models import MessageRow, Turn

TEXT_CHARS = 4_000
ARGUMENT_CHARS = 2_000

_PARTS_SQL = """
(SELECT jsonb_agg(jsonb_build_object(
    'part', part ->> 'part', 'type', part ->> 'type', 'text', left(part ->> 'text', %s),
    'chars', length(part ->> 'text'), 'raw_start', left(part ->> 'raw', 200), 'raw_chars', length(part ->> 'raw')
) ORDER BY place) FROM jsonb_array_elements(parts) WITH ORDINALITY AS listed(part, place))
"""
_CALLS_SQL = """
(SELECT jsonb_agg(jsonb_build_object(
    'id', call ->> 'id', 'aliases', call -> 'aliases', 'name', left(call ->> 'name', 200),
    'arguments', left(call ->> 'arguments', %s), 'chars', length(call ->> 'arguments')
) ORDER BY place) FROM jsonb_array_elements(tool_calls) WITH ORDINALITY AS listed(call, place))
"""


@dataclass(frozen=True, slots=True)
class CutText:
    """The start of a text and how long the whole is."""

    start: str
    chars: int

    @property
    def is_cut(self) -> bool:
        return self.chars > len(self.start)


@dataclass(frozen=True, slots=True)
class SourcePart:
    """One part of list content. number counts from 0. raw_start: the beginning of a picture's or other part's JSON."""

    number: int
    part: str
    type: str
    text: CutText
    raw_start: str
    raw_chars: int


@dataclass(frozen=True, slots=True)
class SourceCall:
    """One tool call, its arguments cut. ids: all names by which a result may refer to it."""

    ids: frozenset[str]
    name: str
    arguments: CutText


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row, texts cut. born_seq, died_seq: its life in events; lines: line breaks in the whole content plus one.

    is_interrupted: its turn was broken off here.
    """

    id: int
    position: int
    born_seq: int
    died_seq: int | None
    kind: RowKind
    role: Role
    text: CutText
    lines: int
    parts: tuple[SourcePart, ...]
    calls: tuple[SourceCall, ...]
    tool_call_id: str | None
    name: str | None
    reasoning: CutText
    by_person: bool
    tokens: int
    reasoning_tokens: int | None
    at: datetime | None
    turn: int | None
    made_by_id: int | None
    archived_by_id: int | None
    replaces_id: int | None
    is_repaired: bool
    is_interrupted: bool

    @property
    def key(self) -> tuple[int, int]:
        """The row's place in the order of its session."""
        return self.position, self.id

    @property
    def is_live(self) -> bool:
        return self.died_seq is None

    @property
    def is_summary(self) -> bool:
        return self.kind.is_summary


def read_rows(rows: QuerySet[MessageRow]) -> list[SourceRow]:
    """The rows of a query set that has its order and its limits already."""
    return [source_row(found) for found in cut(rows)]


def cut(rows: QuerySet[MessageRow]) -> Iterable[Any]:
    """The columns that pages need, long texts cut, as named tuples."""
    ends_here = Turn.objects.filter(session_id=OuterRef("session_id"), number=OuterRef("turn"))
    # The value and not whether there is one: of EXISTS the database makes a list of all turns of the session.
    broken_off = ends_here.filter(last_position=OuterRef("position")).values("interrupted")
    breaks = Func(F("content"), Value("\n"), function="regexp_count", output_field=IntegerField())
    return rows.annotate(
        text_start=Left("content", TEXT_CHARS),
        text_chars=Length("content"),
        breaks=breaks,
        light_parts=RawSQL(_PARTS_SQL, [TEXT_CHARS], output_field=JSONField()),
        light_calls=RawSQL(_CALLS_SQL, [ARGUMENT_CHARS], output_field=JSONField()),
        reasoning_start=Left("reasoning", TEXT_CHARS),
        reasoning_chars=Length("reasoning"),
        is_interrupted=Coalesce(Subquery(broken_off), Value(False)),
    ).values_list(
        *("id", "position", "born_seq", "died_seq", "kind", "role", "text_start", "text_chars", "breaks"),
        *("light_parts", "light_calls", "tool_call_id", "name", "reasoning_start", "reasoning_chars", "by_person"),
        *("tokens", "reasoning_tokens", "at", "turn", "made_by_id", "archived_by_id", "replaces_id", "is_repaired"),
        "is_interrupted",
        named=True,
    )


def source_row(found: Any) -> SourceRow:
    """The value of one named tuple of `cut`."""
    parts = tuple(source_part(number, part) for number, part in enumerate(found.light_parts or ()))
    return SourceRow(
        id=found.id,
        position=found.position,
        born_seq=found.born_seq,
        died_seq=found.died_seq,
        kind=RowKind(found.kind),
        role=Role(found.role),
        text=text_of(found.text_start, found.text_chars, parts),
        lines=(found.breaks or 0) + 1,
        parts=tuple(part for part in parts if part.part != "text"),
        calls=tuple(source_call(call) for call in found.light_calls or ()),
        tool_call_id=(found.tool_call_id or "").strip() or None,
        name=found.name,
        reasoning=CutText(found.reasoning_start or "", found.reasoning_chars or 0),
        by_person=found.by_person,
        tokens=found.tokens,
        reasoning_tokens=found.reasoning_tokens,
        at=found.at,
        turn=found.turn,
        made_by_id=found.made_by_id,
        archived_by_id=found.archived_by_id,
        replaces_id=found.replaces_id,
        is_repaired=found.is_repaired,
        is_interrupted=found.is_interrupted,
    )


def text_of(start: str | None, chars: int | None, parts: Sequence[SourcePart]) -> CutText:
    """The text of a row, whether it is plain or in parts."""
    if start is not None:
        return CutText(start, chars or 0)
    texts = [part.text for part in parts if part.part == "text"]
    joined = "\n".join(text.start for text in texts)
    whole = sum(text.chars for text in texts) + max(len(texts) - 1, 0)
    return CutText(joined[:TEXT_CHARS], whole)


def source_part(number: int, part: dict[str, Any]) -> SourcePart:
    return SourcePart(
        number=number,
        part=part["part"],
        type=part["type"] or "",
        text=CutText(part["text"] or "", part["chars"] or 0),
        raw_start=part["raw_start"] or "",
        raw_chars=part["raw_chars"] or 0,
    )


def source_call(call: dict[str, Any]) -> SourceCall:
    ids = [call["id"], *(call["aliases"] or ())]
    return SourceCall(
        ids=frozenset(name.strip() for name in ids if name and name.strip()),
        name=call["name"] or "",
        arguments=CutText(call["arguments"] or "", call["chars"] or 0),
    )
