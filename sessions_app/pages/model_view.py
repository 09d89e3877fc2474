"""What the model sees: the live rows, now or at an earlier event, as the provider messages they make.

Rows become messages turn by turn: merging, pairing and dropping never reach over the beginning of a turn. So a page of
whole turns is made from a window of rows, and costs the same however large the live context is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from compaction.endpoints.loose_json import as_list, as_object, text_of
from compaction.messages import Message, Role, Row
from compaction.model_view import Repair, model_view
from compaction.wire import message_from_openai
from sessions_app.mapping import ROW_COLUMNS, row_of
from sessions_app.models import MessageRow, Session, SessionEvent
from sessions_app.pages.flow import Key
from sessions_app.pages.row_source import CutText
from sessions_app.pages.row_view import SHOWN_CHARS, argument_line, cut_at_line
from sessions_app.pages.walk import from_key
from sessions_app.queries.moments import as_of_sql, live_rows
from sessions_app.queries.prompts import prompt_at
from sessions_app.rendering.markdown import render_markdown, without_terminal_codes

WINDOW_ROWS = 200
RESULT_CHARS = 1_500


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A tool call as it is sent."""

    name: str
    line: str


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """One provider message. positions: the rows it was made of, none for one that was added; tokens: their costs."""

    role: str
    html: SafeString | None
    plain: str
    more_chars: int
    calls: tuple[ModelCall, ...]
    positions: tuple[int, ...]
    first_row_id: int | None
    tokens: int
    is_summary: bool

    @property
    def anchor(self) -> str:
        """The message's id on the page."""
        return f"m{self.positions[0]}" if self.positions else "added"


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """What is sent in front of the messages and is no row. number: which version it is; tools: their names."""

    number: int
    html: SafeString | None
    more_chars: int
    tools: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class ModelPage:
    """A page of the model view. seq: the event it shows, None for now. repairs: those made on this page. prompt: on the
    first page, None when nothing is known to be sent in front.

    next_key: where the next page begins, None at the end. rows, tokens: of the whole view, None when unknown.
    """

    messages: tuple[ModelMessage, ...]
    repairs: tuple[Repair, ...]
    seq: int | None
    is_first: bool
    next_key: Key | None
    rows: int | None
    tokens: int | None
    prompt: ModelPrompt | None = None


def read_model_page(session: Session, start: Key | None, seq: int | None) -> ModelPage:
    """The page whose first row is at `start`, of the view after event `seq`."""
    found = rows_now(session, start) if seq is None else rows_then(session, seq, start)
    rows, next_key = whole_turns(found)
    view = model_view(rows)
    by_id = {row.id: row for row in rows}
    totals = totals_at(session, seq)
    return ModelPage(
        messages=tuple(message_of(one.message, [by_id[row_id] for row_id in one.row_ids]) for one in view.entries),
        repairs=view.repairs,
        seq=seq,
        is_first=start is None,
        next_key=next_key,
        rows=None if totals is None else totals[0],
        tokens=None if totals is None else totals[1],
        prompt=prompt_shown(session, seq) if start is None else None,
    )


def prompt_shown(session: Session, seq: int | None) -> ModelPrompt | None:
    """What a client sent beside the conversation, ready to print."""
    stored = prompt_at(session.pk, seq)
    if stored is None or not (stored.messages or stored.tools):
        return None
    read = (message_from_openai(message, lambda problem: None) for message in stored.messages)
    text = "\n\n".join(message.text for message in read)
    shown = cut_at_line(text, SHOWN_CHARS)
    tools = as_list(stored.tools)
    return ModelPrompt(
        number=stored.number,
        html=render_markdown(shown) if shown else None,
        more_chars=len(text) - len(shown),
        tools=tuple(tool_name(as_object(tool)) for tool in tools),
        tokens=stored.tokens,
    )


def tool_name(tool: Mapping[str, Any]) -> str:
    """How a tool is called, in either spelling."""
    return text_of(as_object(tool.get("function")), "name") or text_of(tool, "name", "type") or "?"


def rows_now(session: Session, start: Key | None) -> list[Row]:
    """The live rows from `start` on, one more than a window."""
    rows = from_key(live_rows(session.pk), start).only(*ROW_COLUMNS)
    return [row_of(row) for row in rows[: WINDOW_ROWS + 1]]


def rows_then(session: Session, seq: int, start: Key | None) -> list[Row]:
    """The same of the view after an event."""
    position, row_id = start or (-1, -1)
    query = f"""
        SELECT * FROM ({as_of_sql()}) AS seen
        WHERE position >= %(position)s AND (position > %(position)s OR id >= %(row)s)
        ORDER BY position, id LIMIT {WINDOW_ROWS + 1}
    """
    parameters = {"session": session.pk, "seq": seq, "position": position, "row": row_id}
    return [row_of(row) for row in MessageRow.objects.raw(query, parameters)]


def whole_turns(rows: Sequence[Row]) -> tuple[Sequence[Row], Key | None]:
    """The rows of a window up to the beginning of a turn, and the key of the first one left out.

    In a turn that is longer than a window the cut falls before a row that is no tool result.
    """
    if len(rows) <= WINDOW_ROWS:
        return rows, None
    turns = (index for index in range(WINDOW_ROWS, 0, -1) if rows[index].opens_turn and not rows[index - 1].opens_turn)
    edges = (index for index in range(WINDOW_ROWS, 0, -1) if rows[index].role is not Role.TOOL)
    cut = next(turns, None) or next(edges, WINDOW_ROWS)
    return rows[:cut], rows[cut].key


def totals_at(session: Session, seq: int | None) -> tuple[int, int] | None:
    """Live rows and their tokens."""
    if seq is None:
        return session.live_rows, session.live_tokens
    event = SessionEvent.objects.filter(session_id=session.pk, seq__lte=seq).order_by("-seq")
    return event.values_list("live_rows", "live_tokens").first()


def message_of(message: Message, rows: list[Row]) -> ModelMessage:
    """A message ready to print."""
    text = message.text
    is_result = message.role is Role.TOOL
    shown = cut_at_line(text, RESULT_CHARS if is_result else SHOWN_CHARS)
    return ModelMessage(
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
