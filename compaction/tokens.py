"""What a row costs, in tokens: one counter for trigger, tail, budgets, telemetry, pages and the lab.

`TiktokenCounter` counts with o200k_base. `RoughCounter` needs no vocabulary: ASCII by four characters, CJK by code
point, the rest by bytes; it is labelled as an estimate wherever it is shown. A cost is counted once, when a row is
written, and stored with it: sums of stored costs are the only totals there are, so two figures can't drift apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from compaction.errors import InvalidInput
from compaction.messages import ImagePart, Message, OtherPart, Part, TextPart
from compaction.vocabulary import load_o200k

if TYPE_CHECKING:
    import tiktoken

# What a row costs beside its words: role, separators, and the frame of its calls (ENGINE 1.2).
ROW_ENVELOPE_TOKENS: Final = 10
# Providers price a picture by its size in tiles; without decoding it, one typical figure for all (ENGINE 1.2).
IMAGE_TOKENS: Final = 1_500

_DATA_URI: Final = re.compile(r"data:image/[\w.+-]+;base64,[A-Za-z0-9+/=]{64,}")
_CJK: Final = re.compile("[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    @property
    def name(self) -> str:
        """What is shown beside counts: the vocabulary, or that it is an estimate."""

    def count(self, text: str) -> int:
        """Tokens of `text`; 0 only for the empty text."""


class RoughCounter:
    """An estimate that needs no vocabulary. Source of the rule: recorded behaviour, spec 1.1."""

    @property
    def name(self) -> str:
        """The label of an estimate."""
        return "rough"

    def count(self, text: str) -> int:
        """ASCII: ceil(characters / 4). Otherwise each CJK code point 1, and the rest ceil(utf-8 bytes / 4)."""
        if text.isascii():
            return -(-len(text) // 4)
        rest, cjk = _CJK.subn("", text)
        return cjk - (-len(rest.encode("utf-8", "replace")) // 4)


class TiktokenCounter:
    """Counts with o200k_base. Raises VocabularyMissing when the vocabulary is not installed."""

    def __init__(self) -> None:
        self._encoding: tiktoken.Encoding = load_o200k()

    @property
    def name(self) -> str:
        """The vocabulary's name."""
        return self._encoding.name

    def count(self, text: str) -> int:
        """Tokens of `text`, read as ordinary text: markers of special tokens in it are just characters."""
        return len(self._encoding.encode_ordinary(text))


def counter_named(kind: str) -> TokenCounter:
    """The counter for a setting: "tiktoken" or "rough". Raises InvalidInput for anything else."""
    if kind == "tiktoken":
        return TiktokenCounter()
    if kind == "rough":
        return RoughCounter()
    raise InvalidInput(f"unknown token counter {kind!r}, expected tiktoken or rough", "tokens")


def count_text(text: str, counter: TokenCounter) -> int:
    """Tokens of a row's text. A picture written into it as a data URI costs as a picture, not as prose."""
    if "data:image/" not in text:
        return counter.count(text)
    rest, pictures = _DATA_URI.subn("", text)
    return counter.count(rest) + pictures * IMAGE_TOKENS


def row_tokens(message: Message, counter: TokenCounter) -> int:
    """A row's cost: content, names and arguments of its calls, and the envelope. Reasoning is not in it."""
    calls = sum(counter.count(call.name) + counter.count(call.arguments) for call in message.tool_calls)
    return ROW_ENVELOPE_TOKENS + _content_tokens(message, counter) + calls


def reasoning_tokens(message: Message, counter: TokenCounter) -> int | None:
    """Tokens of the reasoning text; None when the row carries none, which is not the same as zero."""
    return None if message.reasoning is None else counter.count(message.reasoning)


def _content_tokens(message: Message, counter: TokenCounter) -> int:
    if message.content is None:
        return 0
    if isinstance(message.content, str):
        return count_text(message.content, counter)
    return sum(_part_tokens(part, counter) for part in message.content)


def _part_tokens(part: Part, counter: TokenCounter) -> int:
    match part:
        case TextPart(text):
            return count_text(text, counter)
        case ImagePart():
            return IMAGE_TOKENS
        case OtherPart(raw=raw):
            return count_text(raw, counter)
