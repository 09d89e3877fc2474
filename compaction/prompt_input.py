"""What a summarizer is given to read: the messages of a stretch, redacted, and bounded before they are redacted.

A stretch can be as long as a session and a single result as large as a file, but a question holds only so much. The
messages that can't be shown are left out first: records between the oldest and the newest, and the middle of long
texts. So the cost of a question does not grow with what it leaves out. Texts are cut at white space, because a secret
that is cut in two is not found any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from compaction.messages import Content, Message, Role, TextPart, ToolCall
from compaction.redaction import redact_message
from compaction.serialise import (
    CONTENT_LIMIT_CHARS,
    TOTAL_HEAD_SHARE,
    TOTAL_LIMIT_CHARS,
    serialise,
)
from compaction.wording import worded

# Far more of a text than is shown, so that what is shown was redacted with its surroundings.
READ_LIMIT_CHARS: Final = 24_000
_READ_HALF_CHARS: Final = READ_LIMIT_CHARS // 2
# What a tool result takes in a question at least, once it is shortened to a line.
_RESULT_LINE_CHARS: Final = 120
_RECORD_CHARS: Final = 24
_LONGEST_WORD_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class PromptInput:
    """Redacted messages in order; `omitted` ones between the first `before_gap` of them and the rest are left out."""

    messages: tuple[Message, ...]
    before_gap: int
    omitted: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What people should know of it."""
        return (worded("records left out of the question: {}", self.omitted),) if self.omitted else ()

    def text(self, shown: Sequence[Message], limit_chars: int = TOTAL_LIMIT_CHARS) -> str:
        """`shown`, the messages in the form they are shown in, as one text within `limit_chars`."""
        if not self.omitted:
            return serialise(shown, limit_chars)
        mark = f"\n\n[... {self.omitted:,} records in between left out ...]\n\n"
        head_chars = int(limit_chars * TOTAL_HEAD_SHARE)
        head = serialise(shown[: self.before_gap], head_chars)
        return head + mark + serialise(shown[self.before_gap :], max(1, limit_chars - head_chars - len(mark)))


def prompt_input(messages: Sequence[Message], limit_chars: int = TOTAL_LIMIT_CHARS) -> PromptInput:
    """The messages that can be shown within `limit_chars`: from both ends, the newest given more room."""
    sizes = [_least_chars(message) for message in messages]
    if sum(sizes) <= limit_chars:
        return PromptInput(tuple(_read(message) for message in messages), len(messages), 0)
    head = _count_within(sizes, int(limit_chars * TOTAL_HEAD_SHARE))
    tail = _count_within(sizes[:head:-1], limit_chars - int(limit_chars * TOTAL_HEAD_SHARE))
    chosen = [*messages[:head], *messages[len(messages) - tail :]]
    return PromptInput(tuple(_read(message) for message in chosen), head, len(messages) - len(chosen))


def _count_within(sizes: Sequence[int], limit_chars: int) -> int:
    """How many of `sizes` are needed to fill `limit_chars`, the one that crosses it included; at least one."""
    used = 0
    for count, size in enumerate(sizes, start=1):
        used += size
        if used >= limit_chars:
            return count
    return len(sizes)


def _least_chars(message: Message) -> int:
    """The least a message takes in a question."""
    length = len(message.text)
    content = min(length, _RESULT_LINE_CHARS if message.role is Role.TOOL else CONTENT_LIMIT_CHARS)
    return (
        _RECORD_CHARS + content + sum(min(len(call.arguments), 1_500) + len(call.name) for call in message.tool_calls)
    )


def _read(message: Message) -> Message:
    """A redacted copy with long texts cut in the middle."""
    calls = tuple(_read_call(call) for call in message.tool_calls)
    return redact_message(replace(message, content=_read_content(message.content), tool_calls=calls))


def _read_content(content: Content) -> Content:
    if content is None or isinstance(content, str):
        return content if content is None else _cut(content)
    return tuple(TextPart(_cut(part.text)) if isinstance(part, TextPart) else part for part in content)


def _read_call(call: ToolCall) -> ToolCall:
    return replace(call, arguments=_cut(call.arguments))


def _cut(text: str) -> str:
    if len(text) <= READ_LIMIT_CHARS:
        return text
    head, tail = text[:_READ_HALF_CHARS], text[-_READ_HALF_CHARS:]
    space = head.rfind(" ", _READ_HALF_CHARS - _LONGEST_WORD_CHARS)
    after = tail.find(" ", 0, _LONGEST_WORD_CHARS)
    head = head[:space] if space > 0 else head
    tail = tail[after:] if after > 0 else tail
    return f"{head}\n[... {len(text) - len(head) - len(tail):,} characters not read ...]\n{tail}"
