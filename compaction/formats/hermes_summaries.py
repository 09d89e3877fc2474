"""Recognising the summaries that Hermes writes into a transcript.

This is the only place where a summary is known by its text, and it happens once, on the way in: the kind is stored
from then on. A summary stands alone as a row, or it was merged into a neighbouring message to keep the provider's
rules; then the message is taken apart again into the summary and the text that was there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from compaction.messages import Content, Message, Role, RowKind, TextPart

TASK_HEADING = "## Historical Task Snapshot"
_PREFIX = re.compile(r"\[CONTEXT COMPACTION(?: *(?:—|–|--?) *REFERENCE ONLY)?\]|\[CONTEXT SUMMARY\]:")
_END = re.compile(r"--- END OF CONTEXT SUMMARY\b[^\n]*---")
_MERGED_HEADER = re.compile(r"\[PRIOR CONTEXT\b[^\]\n]*\]\n")
_MERGED_DELIMITER = re.compile(r"\n\n\[END OF PRIOR CONTEXT\b[^\]\n]*\]\s*\Z")
# What the program puts into the transcript as user text besides summaries.
_INJECTED = ("[Your active task list was preserved across context compression]",)


@dataclass(frozen=True, slots=True)
class SplitSummary:
    """A message that holds a summary: its kind, the summary alone, the message without it (None: nothing is left)."""

    kind: RowKind
    summary: Message
    rest: Message | None


def split_summary(message: Message) -> SplitSummary | None:
    """Take a message with a summary apart; None when it holds none."""
    if message.role not in (Role.USER, Role.ASSISTANT):
        return None
    if message.content is None or isinstance(message.content, str):
        return _split_text(message, message.content or "")
    for index, part in enumerate(message.content):
        if isinstance(part, TextPart) and (found := _split_text(replace(message, content=part.text), part.text)):
            return _with_other_parts(message, index, found)
    return None


def is_injected(text: str) -> bool:
    """Whether a user text was put there by the program."""
    return text.startswith(_INJECTED)


def _split_text(message: Message, text: str) -> SplitSummary | None:
    start = _PREFIX.search(text)
    if start is None:
        return None
    end = _END.search(text, start.end())
    before = text[: start.start()]
    if before.strip() and end is None:
        return None  # a quotation: nothing frames it as a summary
    after = text[end.end() :] if end else ""
    summary = text[start.start() : end.end() if end else len(text)]
    live = _live_text(before, after)
    is_alone = not before.strip() and not after.strip() and not message.tool_calls
    rest = None if is_alone else replace(message, content=live)
    kind = RowKind.MICRO_SUMMARY if is_alone and _is_micro(message.role, summary) else RowKind.BATCH_SUMMARY
    return SplitSummary(kind, Message(message.role, summary.rstrip()), rest)


def _live_text(before: str, after: str) -> str:
    """The text a summary was merged into: what stood before it without the frame, or what follows it."""
    header = _MERGED_HEADER.match(before)
    if header:
        return _MERGED_DELIMITER.sub("", before[header.end() :])
    kept = before.rstrip("\n")
    follows = after.lstrip("\n")
    return f"{kept}\n\n{follows}" if kept and follows else kept or follows


def _is_micro(role: Role, summary: str) -> bool:
    """Whether the summary is a rolling one: an assistant row whose heading follows the preamble after a blank line.

    A batch summary has its first heading directly on the next line, or stands in a user row.
    """
    lines = summary.split("\n")
    if role is not Role.ASSISTANT or TASK_HEADING not in lines:
        return False
    index = lines.index(TASK_HEADING)
    return index >= 2 and not lines[index - 1].strip()


def _with_other_parts(message: Message, index: int, found: SplitSummary) -> SplitSummary:
    """The summary found in one part of list content; the other parts belong to the rest."""
    assert isinstance(message.content, tuple)
    own = [TextPart(found.rest.text)] if found.rest and found.rest.text else []
    parts: Content = (*message.content[:index], *own, *message.content[index + 1 :])
    is_alone = not parts and not message.tool_calls
    return SplitSummary(found.kind, found.summary, None if is_alone else replace(message, content=parts))
