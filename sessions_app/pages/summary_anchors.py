"""What a version of a summary kept of the exact strings it was made from, and what it lost, each with its source.

Strings are taken mechanically from the rows the pass archived and from the version before, never from what a model
says about them (`compaction.anchors`). A lost string is not gone: it stands in its archived row, to which it leads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.db.models.functions import Left

from compaction.anchors import Anchor, AnchorKind, find_anchors, kept_and_lost
from compaction.messages import Message, Role, RowKind
from compaction.redaction import redact_message
from sessions_app.mapping import ROW_COLUMNS, message_of
from sessions_app.models import CompactionPass, MessageRow, RowLifetime, Session

# A batch may archive thousands of rows: the newest of them are looked through, as far as they are not huge.
MOST_ROWS = 400
MOST_CHARS = 1_500_000
MOST_SHOWN = 60
FED_SHOWN = 40
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$")
_FED_KINDS = (RowKind.MESSAGE.value, RowKind.PRUNE_STUB.value)


@dataclass(frozen=True, slots=True)
class TracedAnchor:
    """One exact string. section: the heading under which the version has it, empty when it lost it or has none there.

    position: the newest archived row that holds it; None when only the earlier version held it.
    """

    text: str
    kind: AnchorKind
    is_kept: bool
    section: str
    position: int | None


@dataclass(frozen=True, slots=True)
class FedRow:
    """A row that a pass put into its summary."""

    position: int
    role: str
    tokens: int
    start: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a version was made from.

    rows: how many rows its pass archived, with their tokens. fed: the first of them. anchors: the most telling strings,
    lost ones first; kept, lost: how many there are in all. unread_rows: rows that were not looked through for strings.
    """

    rows: int
    tokens: int
    fed: tuple[FedRow, ...]
    anchors: tuple[TracedAnchor, ...]
    kept: int
    lost: int
    unread_rows: int

    @property
    def more_fed(self) -> int:
        """Fed rows that are counted and not listed."""
        return self.rows - len(self.fed)

    @property
    def more_anchors(self) -> int:
        """Strings that are counted and not listed."""
        return self.kept + self.lost - len(self.anchors)


def read_provenance(
    session: Session, made_by: CompactionPass | None, text: str | None, before: str | None
) -> Provenance | None:
    """The sources of the version `text`; None when nothing can be said. `before`: the version it superseded."""
    if made_by is None:
        return None
    found = fed_rows(session, made_by)
    sizes = list(found.values_list("tokens", flat=True))
    newest = read_newest(found)
    kept, lost = ((), ()) if text is None else trace(newest, text, before)
    first_lost = lost[: MOST_SHOWN // 2]
    return Provenance(
        rows=len(sizes),
        tokens=sum(sizes),
        fed=read_fed(found),
        anchors=(*first_lost, *kept[: MOST_SHOWN - len(first_lost)]),
        kept=len(kept),
        lost=len(lost),
        unread_rows=len(sizes) - len(newest),
    )


def fed_rows(session: Session, made_by: CompactionPass) -> QuerySet[MessageRow]:
    """The rows a pass archived, also when it was undone since."""
    rows = MessageRow.objects.filter(session_id=session.pk, kind__in=_FED_KINDS)
    if made_by.undone_seq is None:
        return rows.filter(archived_by_id=made_by.pk).order_by("position", "id")
    ended = RowLifetime.objects.filter(session_id=session.pk, archived_by_id=made_by.pk)
    wanted = Q(archived_by_id=made_by.pk) | Q(id__in=ended.values("row_id"))
    return rows.filter(wanted).order_by("position", "id")


def read_newest(found: QuerySet[MessageRow]) -> list[MessageRow]:
    """The newest rows in order, within the limits."""
    rows: list[MessageRow] = []
    chars = 0
    for row in found.order_by("-position", "-id").only(*ROW_COLUMNS)[:MOST_ROWS].iterator(50):
        chars += len(row.content or "") + sum(len(str(call.get("arguments", ""))) for call in row.tool_calls or ())
        if chars > MOST_CHARS and rows:
            break
        rows.append(row)
    return rows[::-1]


def read_fed(found: QuerySet[MessageRow]) -> tuple[FedRow, ...]:
    """The first rows with the start of their texts."""
    rows = found.annotate(start=Left("content", 120)).values_list(
        "position", "role", "tokens", "start", "tool_calls__0__name"
    )
    return tuple(
        FedRow(position, role, tokens, " ".join((start or name or "").split()))
        for position, role, tokens, start, name in rows[:FED_SHOWN]
    )


def trace(
    rows: Sequence[MessageRow], text: str, before: str | None
) -> tuple[tuple[TracedAnchor, ...], tuple[TracedAnchor, ...]]:
    """Kept and lost strings, each with the newest row that holds it. Those of the earlier version come behind."""
    fresh = find_anchors([redact_message(message_of(row)) for row in rows])
    known = {anchor.text for anchor in fresh}
    carried = find_anchors([Message(Role.ASSISTANT, before)]) if before else ()
    older = tuple(anchor for anchor in carried if anchor.text not in known)
    headings = headings_of(text)
    kept: list[TracedAnchor] = []
    lost: list[TracedAnchor] = []
    for anchors, source in ((fresh, rows), (older, None)):
        kept_now, lost_now = kept_and_lost(anchors, text)
        kept += [traced(anchor, headings, source, is_kept=True) for anchor in kept_now]
        lost += [traced(anchor, headings, source, is_kept=False) for anchor in lost_now]
    return figures_last(kept), figures_last(lost)


def figures_last(anchors: Sequence[TracedAnchor]) -> tuple[TracedAnchor, ...]:
    """In their order, but figures behind: they come in swarms, and few of them are missed."""
    return tuple(sorted(anchors, key=lambda anchor: anchor.kind is AnchorKind.FIGURE))


def traced(
    anchor: Anchor, headings: Sequence[tuple[str, str]], rows: Sequence[MessageRow] | None, *, is_kept: bool
) -> TracedAnchor:
    position = None if rows is None else rows[anchor.last_message].position
    section = next((heading for heading, body in headings if anchor.text in body), "") if is_kept else ""
    return TracedAnchor(anchor.text, anchor.kind, is_kept, section, position)


def headings_of(text: str) -> list[tuple[str, str]]:
    """The parts of a text, each with the heading it stands under."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            parts.append((heading[1], []))
        else:
            parts[-1][1].append(line)
    return [(heading, "\n".join(lines)) for heading, lines in parts]
