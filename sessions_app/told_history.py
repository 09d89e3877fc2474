"""A history as a client tells it, and when two messages say the same.

Must not query. Clients send an answer back in their own words: without reasoning, with null or an empty text where
nothing was said, with arguments written by another JSON library. So messages are compared by what they say: role,
content, calls and the call they answer. What a provider adds beside that is no difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from compaction.messages import Content, Message, Part, Role, TextPart, ToolCall

BEGINNING: Final = ""
_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Told:
    """One message of a told history. raw: the JSON object as it was sent."""

    message: Message
    raw: str
    digest: str
    prefix: str

    @property
    def is_answer(self) -> bool:
        """Whether an assistant said it."""
        return self.message.role is Role.ASSISTANT


def told_history(messages: Iterable[tuple[Message, str]]) -> tuple[Told, ...]:
    """The history of `messages`, each with its JSON text."""
    return tuple(_chained(messages))


def _chained(messages: Iterable[tuple[Message, str]]) -> Iterator[Told]:
    prefix = BEGINNING
    for message, raw in messages:
        digest = digest_of(message)
        prefix = prefix_of(prefix, digest)
        yield Told(message, raw, digest, prefix)


def prefix_of(before: str, digest: str) -> str:
    """The digest of a history that goes on with one more message."""
    return _hash(before + digest)


def digest_of(message: Message) -> str:
    """The digest of what a message says."""
    said: list[Any] = [_role(message), _content(message.content, message.role)]
    said.append([_call(call) for call in message.tool_calls])
    said.append((message.tool_call_id or "").strip() if message.role is Role.TOOL else "")
    said.append(message.name or "" if message.role is Role.USER else "")
    return _hash(json.dumps(said, sort_keys=True))


def overlap_of(stored: Sequence[str], told: Sequence[str]) -> int:
    """How many digests at the end of `stored` are the beginning of `told`; the most there are.

    In time that grows with the lengths, also for histories that repeat themselves (after Knuth, Morris and Pratt): what
    a mismatch leaves of a match is known from `told` alone.
    """
    left_of = _borders(told)
    matched = 0
    for digest in stored[max(len(stored) - len(told), 0) :]:
        while matched and digest != told[matched]:
            matched = left_of[matched - 1]
        matched += bool(told) and digest == told[matched]
    return matched


def _borders(told: Sequence[str]) -> list[int]:
    """For each beginning of `told` the longest shorter beginning that is also its end."""
    borders, length = [0] * len(told), 0
    for end in range(1, len(told)):
        while length and told[end] != told[length]:
            length = borders[length - 1]
        length += told[end] == told[length]
        borders[end] = length
    return borders


def digest_of_texts(*texts: str) -> str:
    """The digest of several texts in this order."""
    return _hash(json.dumps(texts))


def _role(message: Message) -> str:
    # Newer clients call the operator's messages developer's.
    return Role.SYSTEM.value if message.role is Role.DEVELOPER else message.role.value


def _content(content: Content, role: Role) -> Any:
    """Text as it is, an assistant's without the blanks around it; one part of text is text."""
    if isinstance(content, tuple) and len(content) == 1 and isinstance(content[0], TextPart):
        content = content[0].text
    if content is None or isinstance(content, str):
        text = content or ""
        return text.strip() if role is Role.ASSISTANT or not text.strip() else text
    return [_part(part) for part in content]


def _part(part: Part) -> Any:
    return part.text if isinstance(part, TextPart) else {"raw": _plain(part.raw)}


def _call(call: ToolCall) -> list[Any]:
    return [(call.id or "").strip(), call.name, _plain(call.arguments or "{}")]


def _plain(text: str) -> Any:
    """JSON as its value, so that spaces and the order of keys make no difference; other text as it is."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return text


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
