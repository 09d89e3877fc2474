"""What the model sees: the live rows, now or at an earlier event, as the provider messages they make.

The whole live context has to be read to say how rows merge; it is as large as a window, not as the session. A page of
it is shown at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString

from compaction.messages import Message, Role, Row
from compaction.model_view import Repair, model_view
from sessions_app.mapping import row_of
from sessions_app.models import Session
from sessions_app.pages.row_source import CutText
from sessions_app.pages.row_view import SHOWN_CHARS, argument_line, cut_at_line
from sessions_app.queries.moments import live_rows, rows_as_of
from sessions_app.rendering.markdown import render_markdown, without_terminal_codes

PAGE_MESSAGES = 100
RESULT_CHARS = 1_500


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A tool call as it is sent."""

    name: str
    line: str


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One provider message. positions: the rows it was made of; tokens: their stored costs."""

    number: int
    role: str
    html: SafeString | None
    plain: str
    more_chars: int
    calls: tuple[ModelCall, ...]
    positions: tuple[int, ...]
    first_row_id: int | None
    tokens: int
    is_summary: bool


@dataclass(frozen=True, slots=True)
class ModelPage:
    """A page of the model view. seq: the event it shows, None for now; first: number of its first message, from 0."""

    messages: tuple[ModelMessage, ...]
    total: int
    first: int
    seq: int | None
    tokens: int
    repairs: tuple[Repair, ...]

    @property
    def next_first(self) -> int | None:
        end = self.first + len(self.messages)
        return end if end < self.total else None

    @property
    def previous_first(self) -> int | None:
        return max(self.first - PAGE_MESSAGES, 0) if self.first else None


def read_model_page(session: Session, first: int, seq: int | None) -> ModelPage:
    """The page that begins at message `first`."""
    rows = tuple(map(row_of, live_rows(session.pk))) if seq is None else rows_as_of(session.pk, seq)
    view = model_view(rows)
    by_id = {row.id: row for row in rows}
    first = min(first, max(len(view.entries) - 1, 0))
    shown = view.entries[first : first + PAGE_MESSAGES]
    messages = tuple(
        message_of(first + number, entry.message, [by_id[row_id] for row_id in entry.row_ids])
        for number, entry in enumerate(shown)
    )
    return ModelPage(messages, len(view.entries), first, seq, sum(row.tokens for row in rows), view.repairs)


def message_of(number: int, message: Message, rows: list[Row]) -> ModelMessage:
    """A message ready to print."""
    text = message.text
    is_result = message.role is Role.TOOL
    shown = cut_at_line(text, RESULT_CHARS if is_result else SHOWN_CHARS)
    return ModelMessage(
        number=number,
        role=message.role.value,
        html=None if is_result or not shown else render_markdown(shown),
        plain=without_terminal_codes(shown) if is_result else "",
        more_chars=len(text) - len(shown),
        calls=tuple(
            ModelCall(call.name, argument_line(CutText(call.arguments, len(call.arguments))))
            for call in message.tool_calls
        ),
        positions=tuple(row.position for row in rows),
        first_row_id=rows[0].id if rows else None,
        tokens=sum(row.tokens for row in rows),
        is_summary=any(row.is_summary for row in rows),
    )
