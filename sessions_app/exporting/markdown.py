"""A session as Markdown, for reading and for issue trackers.

Whatever a row holds stands inside a fence that is longer than any run of backticks in it, or is quoted line by line, so
nothing in a row can reach the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.translation import gettext as _

from compaction.messages import Role
from sessions_app.exporting.reading import ToldRow, told_rows, told_title
from sessions_app.models import Session
from sessions_app.templatetags.site import number

_BACKTICKS = re.compile(r"`+")


def markdown_pieces(session: Session, *, is_redacted: bool) -> Iterator[bytes]:
    """The head, then each row."""
    yield "\n".join(head_lines(session, is_redacted=is_redacted)).encode()
    for told in told_rows(session, is_redacted=is_redacted):
        yield f"\n{row_text(told)}".encode("utf-8", "replace")


def head_lines(session: Session, *, is_redacted: bool) -> Iterator[str]:
    yield f"# {one_line(told_title(session, is_redacted=is_redacted))}"
    yield ""
    yield f"- {_('Session')}: `{session.public_id}`"
    yield f"- {_('Source')}: {session.source}"
    yield f"- {_('Model')}: {one_line(session.model or _('unknown'))}"
    yield "- " + _("Rows: {live} live, {archived} archived").format(
        live=number(session.live_rows), archived=number(session.archived_rows)
    )
    yield f"- {_('Passes')}: {number(session.passes_total)}"
    if is_redacted:
        yield "- " + _("Redacted: secrets are masked as [REDACTED]. This copy can't stand for the original.")
    yield ""


def row_text(told: ToldRow) -> str:
    """One row under a heading of its own."""
    parts = [f"## {heading_of(told)}", ""]
    if told.reasoning:
        parts += [f"*{_('reasoning')}*", "", quoted(told.reasoning), ""]
    if told.text:
        parts += [body_of(told), ""]
    for call in told.calls:
        parts += [f"**{_('Call')}** {code(call.name)}", "", fenced(call.arguments, "json"), ""]
    parts += [f"*{part}*\n" for part in told.parts]
    return "\n".join(parts)


def heading_of(told: ToldRow) -> str:
    """Number, role, and what became of the row."""
    row = told.row
    words = [f"{row.position}", str(row.role) if not told.is_summary else _("summary")]
    if told.is_stub:
        words.append(_("pruned"))
    if row.made_by is not None:
        words.append(_("made by pass {}").format(row.made_by.number))
    if row.archived_by is not None:
        words.append(_("archived by pass {}").format(row.archived_by.number))
    elif row.died_seq is not None:
        words.append(_("taken back"))
    return ", ".join(words)


def body_of(told: ToldRow) -> str:
    """What a tool printed is code; what people and models wrote is quoted."""
    return fenced(told.text) if told.row.role == Role.TOOL else quoted(told.text)


def fenced(text: str, language: str = "") -> str:
    """The text as a block of code that it can't end itself."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """The text as code within a line."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{one_line(text)}{space}{ticks}"


def quoted(text: str) -> str:
    """Each line behind a sign of quotation."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def one_line(text: str) -> str:
    return " ".join(text.split())
