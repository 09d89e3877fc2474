"""Who a row is, where its source gives it no name.

A row's key is a hash of what it says: role, content, calls, and the call it answers. It leaves out what a program adds
or drops when it copies a row (times, reasoning, counters), so a copy has the key of its original. Rows that say the
same get an ordinal in the order of their appearance. Both stay the same when a file grows at its end.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from compaction.messages import Content, Message, Role, TextPart

_KEY_CHARACTERS = 16
_STEM_CHARACTERS = 80


def row_key(message: Message) -> str:
    """A short hash of what a message says; 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for field in _fields(message):
        data = field.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()[:_KEY_CHARACTERS]


def opening_id(stem: str, messages: Iterable[Message]) -> str:
    """An id for a conversation that has none: its file's name, and a hash of its opening through the first reply.

    Either alone is not enough: many files are called messages.json, and many runs begin with the same words. The reply
    is in it because runs of one task differ from there on; a conversation without a reply yet is known by all it has.
    """
    keys = []
    for message in messages:
        keys.append(row_key(message))
        if message.role is Role.ASSISTANT:
            break
    digest = hashlib.sha256(" ".join(keys).encode()).hexdigest()[:_KEY_CHARACTERS]
    return f"{stem[:_STEM_CHARACTERS]}-{digest}"


class RowIds:
    """Gives out ids that are unique in one session: the base itself first, then base.2, base.3 and so on."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def give(self, base: str) -> str:
        """The next id for rows known as `base`."""
        self._seen[base] += 1
        count = self._seen[base]
        return base if count == 1 else f"{base}.{count}"


def _fields(message: Message) -> Iterable[str]:
    yield message.role.value
    yield from _content_fields(message.content)
    for call in message.tool_calls:
        yield from ("call", call.id or "", call.name, call.arguments)
    yield message.tool_call_id or ""


def _content_fields(content: Content) -> Iterable[str]:
    """Text as one piece however it was cut into parts, without blanks around it; null and empty are the same."""
    if content is None or isinstance(content, str):
        yield (content or "").strip()
        return
    yield "\n".join(part.text for part in content if isinstance(part, TextPart)).strip()
    yield from (part.raw for part in content if not isinstance(part, TextPart))
