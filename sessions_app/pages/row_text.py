"""The whole of one row, piece by piece: its text, its raw record, its pictures."""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

from django.db.models import F, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Length, Substr
from django.utils.safestring import SafeString

from compaction.messages import Role
from sessions_app.models import MessageRow, Session
from sessions_app.rendering.code import highlighted_output
from sessions_app.rendering.markdown import render_markdown, without_terminal_codes

PIECE_CHARS = 200_000
MARKDOWN_CHARS = 60_000
PICTURE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
DATA_ADDRESS = re.compile(r"data:(image/[a-z]+);base64,([A-Za-z0-9+/=\s]+)")


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of a row's text. Short texts of people and models are set as Markdown, all others printed as they are."""

    row: MessageRow
    html: SafeString | None
    plain: str
    first: int
    chars: int

    @property
    def code(self) -> SafeString | None:
        """The text with its parts marked, where it is a diff or JSON and not too long."""
        return highlighted_output(self.plain) if self.chars <= len(self.plain) else None

    @property
    def next_first(self) -> int | None:
        end = self.first + PIECE_CHARS
        return end if end < self.chars else None


def read_text(session: Session, row_id: int, first: int) -> TextPiece | None:
    """The piece of a row's text that begins at character `first`; None when there is no such row."""
    whole = Coalesce(F("content"), RawSQL(_PARTS_TEXT, [], output_field=TextField()), Value(""))
    rows = MessageRow.objects.filter(session_id=session.pk, id=row_id).annotate(
        piece=Substr(whole, first + 1, PIECE_CHARS), chars=Length(whole)
    )
    row = rows.only("id", "position", "role", "kind", "tokens", "died_seq", "session_id").first()
    if row is None:
        return None
    piece: str = row.piece
    chars: int = row.chars
    is_markdown = row.role != Role.TOOL and chars <= MARKDOWN_CHARS
    return TextPiece(row, render_markdown(piece) if is_markdown else None, without_terminal_codes(piece), first, chars)


_PARTS_TEXT = """
(SELECT string_agg(part ->> 'text', E'\\n' ORDER BY place)
 FROM jsonb_array_elements("sessions_app_messagerow"."parts") WITH ORDINALITY AS listed(part, place)
 WHERE part ->> 'part' = 'text')
"""


def raw_json(row: MessageRow) -> bytes:
    """A row as JSON: the source's record as it came, and what is stored of it."""
    stored = {
        "position": row.position,
        "kind": row.kind,
        "role": row.role,
        "born_seq": row.born_seq,
        "died_seq": row.died_seq,
        "made_by_pass": None if row.made_by is None else row.made_by.number,
        "archived_by_pass": None if row.archived_by is None else row.archived_by.number,
        "tokens": row.tokens,
        "token_counter": row.token_counter,
        "reasoning_tokens": row.reasoning_tokens,
        "at": None if row.at is None else row.at.isoformat(),
        "model": row.model,
        "content": row.content,
        "parts": row.parts,
        "tool_calls": row.tool_calls,
        "tool_call_id": row.tool_call_id,
        "name": row.name,
        "reasoning": row.reasoning,
        "foreign_id": row.foreign_id,
        "source_line": row.source_line,
        "extras": parsed(row.message_extras),
        "source_record": parsed(row.raw),
    }
    return json.dumps(stored, ensure_ascii=False, indent=2).encode()


def parsed(text: str) -> Any:
    """JSON where the text is JSON, else the text; None when it is empty."""
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


@dataclass(frozen=True, slots=True)
class Picture:
    """The bytes of a picture that is stored in a row."""

    media_type: str
    content: bytes


def read_picture(row: MessageRow, part_number: int) -> Picture | None:
    """A picture of a row; None when the part holds none, or none of a type that is safe to show."""
    parts = row.parts or []
    if not 0 <= part_number < len(parts) or parts[part_number].get("part") != "image":
        return None
    raw = str(parts[part_number].get("raw", ""))
    found = DATA_ADDRESS.search(raw.replace("\\/", "/"))
    media_type, encoded = (found.group(1), found.group(2)) if found else base64_source(raw)
    if media_type not in PICTURE_TYPES:
        return None
    try:
        return Picture(media_type, base64.b64decode(encoded, validate=False))
    except (binascii.Error, ValueError):
        return None


def base64_source(raw: str) -> tuple[str, str]:
    """Type and data of a part of the form {"source": {"type": "base64", "media_type": …, "data": …}}."""
    try:
        source = json.loads(raw)["source"]
        return str(source["media_type"]), str(source["data"])
    except (ValueError, KeyError, TypeError):
        return "", ""
