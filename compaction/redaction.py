"""Redaction: secrets are masked in what goes to a summarizer, what comes back, and what is stored as a summary.

Every secret is replaced by `[REDACTED]`, the word the prompt uses too. Redacting is forced, never fails, never blocks
a pass, and is idempotent. Rows themselves are not changed; this works on copies. What is a secret is decided by the
finders: `vendor_keys` (formats), `secret_places` (blocks, headers, URLs, commands), `secret_assignments` (names).
Hashes, UUIDs, paths, counts, pictures in base64, placeholders and look-ups stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from compaction.messages import Content, ImagePart, Message, OtherPart, Part, TextPart, ToolCall
from compaction.secret_assignments import find_assignments, find_options
from compaction.secret_names import NameStrength, name_strength
from compaction.secret_places import (
    find_auth_headers,
    find_aws_secrets,
    find_command_secrets,
    find_key_blocks,
    find_url_secrets,
)
from compaction.secret_values import MASK, NamedValue, is_secret_value
from compaction.vendor_keys import FoundKey, find_vendor_keys

__all__ = ["MASK", "Redaction", "Span", "redact", "redact_message"]

# Characters without width that split a key for a reader's eye but not for a copy and paste.
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
# Payloads that hold no secret but may hold anything by chance: pictures and the integrity strings of lock files.
_PAYLOAD: Final = re.compile(
    r"data:[\w/+.;=-]{0,100};base64,[A-Za-z0-9+/=_%-]*|sha(?:1|256|384|512)-[A-Za-z0-9+/]{20,}={0,2}", re.ASCII
)
_JSON_STRING: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_JSON_NUMBER_VALUE: Final = re.compile(r"\s*:\s*(-?\d{4,})(?=\s*[,}\]])")
_OPTION_NAME: Final = re.compile(r"^--?[A-Za-z][\w-]{1,60}$")


@dataclass(frozen=True, slots=True)
class Span:
    """A mask in a redacted text: where it stands and what kind of secret it covers."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class Redaction:
    """A redacted text and its masks in order. Masks that were in the text before are not listed."""

    text: str
    spans: tuple[Span, ...] = ()

    @property
    def count(self) -> int:
        """How many secrets were masked."""
        return len(self.spans)


def redact(text: str) -> Redaction:
    """`text` with every secret replaced by `[REDACTED]`. Never raises; linear time; redacting twice changes nothing."""
    found = _find_secrets(text)
    return _mask(text, found) if found else Redaction(text)


def redact_message(message: Message) -> Message:
    """A copy of `message` with content, call arguments and reasoning redacted; the same object when nothing is found.

    Arguments that are JSON stay JSON. Pictures and parts of unknown type are redacted where they hold text.
    """
    content = _redact_content(message.content)
    calls = tuple(_redact_call(call) for call in message.tool_calls)
    reasoning = None if message.reasoning is None else redact(message.reasoning).text
    if (content, calls, reasoning) == (message.content, message.tool_calls, message.reasoning):
        return message
    return replace(message, content=content, tool_calls=calls, reasoning=reasoning)


def _find_secrets(text: str) -> list[FoundKey]:
    if not _INVISIBLE.search(text):
        return _merge(_findings(text))
    kept = [index for index, character in enumerate(text) if not _INVISIBLE.match(character)]
    visible = "".join(text[index] for index in kept)
    return [FoundKey(kept[found.start], kept[found.end - 1] + 1, found.label) for found in _merge(_findings(visible))]


def _findings(text: str) -> list[FoundKey]:
    finders = (
        find_key_blocks, find_vendor_keys, find_auth_headers, find_url_secrets, find_assignments, find_options,
        find_command_secrets, find_aws_secrets,
    )  # fmt: skip
    found = list(chain.from_iterable(finder(text) for finder in finders))
    return _outside_payloads(text, found) if found else found


def _outside_payloads(text: str, found: list[FoundKey]) -> list[FoundKey]:
    if "base64," not in text and "sha" not in text:
        return found
    payloads = iter([match.span() for match in _PAYLOAD.finditer(text)])
    kept = []
    current = next(payloads, None)
    for secret in sorted(found, key=lambda item: (item.start, -item.end)):
        while current and current[1] <= secret.start:
            current = next(payloads, None)
        if current is None or secret.start < current[0]:
            kept.append(secret)
    return kept


def _merge(found: Sequence[FoundKey]) -> list[FoundKey]:
    merged: list[FoundKey] = []
    for secret in sorted(found, key=lambda item: (item.start, -item.end)):
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = FoundKey(last.start, max(last.end, secret.end), last.label)
        else:
            merged.append(secret)
    return merged


def _mask(text: str, found: Sequence[FoundKey]) -> Redaction:
    pieces: list[str] = []
    spans: list[Span] = []
    position = length = 0
    for secret in found:
        pieces += [text[position : secret.start], MASK]
        length += secret.start - position
        spans.append(Span(length, length + len(MASK), secret.label))
        length += len(MASK)
        position = secret.end
    return Redaction("".join([*pieces, text[position:]]), tuple(spans))


def _redact_content(content: Content) -> Content:
    if content is None:
        return None
    if isinstance(content, str):
        return redact(content).text
    return tuple(_redact_part(part) for part in content)


def _redact_part(part: Part) -> Part:
    match part:
        case TextPart(text):
            return TextPart(redact(text).text)
        case ImagePart(raw):
            return ImagePart(_redact_json(raw))
        case OtherPart(type=kind, raw=raw):
            return OtherPart(kind, _redact_json(raw))


def _redact_call(call: ToolCall) -> ToolCall:
    arguments = _redact_json(call.arguments)
    return call if arguments == call.arguments else replace(call, arguments=arguments)


def _redact_json(raw: str) -> str:
    """Redact a text that may be JSON: inside its strings, so that JSON stays JSON and keeps its spelling elsewhere."""
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return redact(raw).text
    return "".join(_redacted_pieces(raw))


def _redacted_pieces(raw: str) -> Iterator[str]:
    name = ""
    position = 0
    for match in _JSON_STRING.finditer(raw):
        if match.start() < position:
            continue
        yield raw[position : match.start()]
        value = json.loads(match.group())
        position = match.end()
        if raw[position : position + 8].lstrip().startswith(":"):
            name = value
            yield match.group()
            number = _JSON_NUMBER_VALUE.match(raw, position)
            if number and _is_named_secret(name, number.group(1)):
                yield f'{raw[position : number.start(1)]}"{MASK}"'
                position = number.end()
            continue
        yield _redacted_literal(match.group(), value, name)
        name = value.lstrip("-") if _OPTION_NAME.match(value) else ""
    yield raw[position:]


def _redacted_literal(literal: str, value: str, name: str) -> str:
    redacted = MASK if name and _is_named_secret(name, value) else redact(value).text
    return literal if redacted == value else json.dumps(redacted, ensure_ascii=False)


def _is_named_secret(name: str, value: str) -> bool:
    strength = name_strength(name)
    if strength is NameStrength.NONE or MASK in value:
        return False
    return is_secret_value(NamedValue(value, strength, quoted=True, ends_clause=True))
