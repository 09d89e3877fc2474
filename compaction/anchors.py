"""Anchors: exact strings that later work may need and that summaries lose first (ENGINE 8.6).

Paths, addresses, identifiers, hashes, commands, error lines and figures with units are taken mechanically from the
rows, never from what a model says about them, ranked, and appended to the summary within a budget. The same strings
tell a page what a summary kept and what it lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compaction.messages import Message, Role
from compaction.sections import Section, split_off
from compaction.tokens import TokenCounter


class AnchorKind(StrEnum):
    """What an exact string is."""

    ERROR = "error"
    COMMAND = "command"
    PATH = "path"
    URL = "url"
    HASH = "hash"
    IDENTIFIER = "identifier"
    FIGURE = "figure"


@dataclass(frozen=True, slots=True)
class Anchor:
    """One exact string, how often it occurs in the rows it was taken from, and where it occurred last."""

    kind: AnchorKind
    text: str
    count: int
    last_message: int


# How much one anchor is worth beside its frequency: what can't be found again in the files comes first.
_WEIGHTS: Final = {
    AnchorKind.ERROR: 6,
    AnchorKind.COMMAND: 4,
    AnchorKind.PATH: 5,
    AnchorKind.URL: 4,
    AnchorKind.HASH: 4,
    AnchorKind.IDENTIFIER: 3,
    AnchorKind.FIGURE: 2,
}
# Figures and hashes come in swarms; beyond a few of them they only push out what is rarer.
_MOST_OF_KIND: Final = {AnchorKind.FIGURE: 6, AnchorKind.HASH: 6}
_LONGEST_CHARS: Final = 160
_SCANNED_CHARS: Final = 40_000
_PATTERNS: Final = (
    (AnchorKind.URL, re.compile(r"https?://[^\s<>\"'`)\]}]{4,200}")),
    (AnchorKind.HASH, re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{7,12})\b")),
    (
        AnchorKind.IDENTIFIER,
        re.compile(
            r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|\b[A-Z]{2,10}-\d{1,6}\b|(?<!\w)#\d{2,6}\b"
        ),
    ),
    (AnchorKind.PATH, re.compile(r"(?<![\w:/.])(?:~|\.{1,2})?/?(?:[\w.@-]+/)+[\w.@-]*\.?\w+(?::\d+)?")),
    (
        AnchorKind.FIGURE,
        re.compile(
            r"(?<![\w.])\d+(?:[.,]\d+)*\s?(?:ms|s|min|h|kB|KB|MB|GB|MiB|GiB|tokens?|rows?|%|px|req/s|rps|次|秒|毫秒|行|个)(?!\w)"
        ),
    ),
)
_ERROR_LINE: Final = re.compile(
    r"^.*\b(?:\w+(?:Error|Exception|Warning)|FAILED|fatal|panic|Traceback|exit code [1-9]\d*)\b.*$", re.MULTILINE
)
_DIGIT: Final = re.compile(r"\d")
_LETTER: Final = re.compile(r"[a-f]")


def find_anchors(messages: Sequence[Message]) -> tuple[Anchor, ...]:
    """The anchors of `messages`, best first, each once. The messages must be redacted already."""
    counts: dict[tuple[AnchorKind, str], tuple[int, int]] = {}
    for number, message in enumerate(messages):
        for kind, text in _in_message(message):
            count, _last = counts.get((kind, text), (0, 0))
            counts[kind, text] = (count + 1, number)
    anchors = [Anchor(kind, text, count, last) for (kind, text), (count, last) in counts.items()]
    return tuple(sorted(anchors, key=lambda anchor: (-_worth(anchor, len(messages)), anchor.text)))


def _worth(anchor: Anchor, messages: int) -> float:
    recency = (anchor.last_message + 1) / max(1, messages)
    return _WEIGHTS[anchor.kind] + min(anchor.count, 5) + 2 * recency


def _in_message(message: Message) -> Iterator[tuple[AnchorKind, str]]:
    for call in message.tool_calls:
        command = command_of(call.arguments)
        if command:
            yield AnchorKind.COMMAND, _shortened(command)
        yield from _in_text(call.arguments)
    yield from _in_text(message.text)
    if message.role is Role.TOOL:
        for found in list(_ERROR_LINE.finditer(message.text[:_SCANNED_CHARS]))[:3]:
            yield AnchorKind.ERROR, _shortened(found[0])


def _in_text(text: str) -> Iterator[tuple[AnchorKind, str]]:
    text = text[:_SCANNED_CHARS]
    for kind, pattern in _PATTERNS:
        for found in pattern.finditer(text):
            exact = found[0].rstrip(".,;:")
            if 3 < len(exact) <= _LONGEST_CHARS and _is_telling(kind, exact):
                yield kind, exact


def _is_telling(kind: AnchorKind, text: str) -> bool:
    if kind is AnchorKind.HASH:
        return bool(_DIGIT.search(text) and _LETTER.search(text))
    if kind is AnchorKind.PATH:
        return _is_telling_path(text)
    return "[REDACTED]" not in text


def _is_telling_path(text: str) -> bool:
    """Whether a path names a file or a place worth remembering: not the sides of a diff, not an address with a number
    in it that stands for one of many."""
    parts = [part for part in text.split("/") if part]
    if parts[0] in ("a", "b") or any(part.isdigit() for part in parts):
        return False
    return "." in parts[-1] or len(parts) > 2


def command_of(arguments: str) -> str:
    """The shell command among a call's arguments; empty when there is none."""
    try:
        loaded = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(loaded, dict):
        return ""
    command = loaded.get("command") or loaded.get("cmd")
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    return command.strip() if isinstance(command, str) else ""


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_CHARS else line[: _LONGEST_CHARS - 1] + "…"


def attach_anchors(
    text: str, earlier: str, messages: Sequence[Message], limit_tokens: int, counter: TokenCounter
) -> str:
    """`text` with an anchor section of at most `limit_tokens`: strings of the newly covered rows, then those the
    earlier summary carried. Strings that stand in the text anyway are not repeated."""
    body, said = split_off(text, Section.ANCHORS)
    _, carried = split_off(earlier, Section.ANCHORS)
    fresh = (anchor.text for anchor in _few_of_each(find_anchors(messages)))
    lines = _fitting((*fresh, *map(_bare, said), *map(_bare, carried)), body, limit_tokens, counter)
    return f"{body}\n\n## {Section.ANCHORS}\n" + "\n".join(lines) if lines else body


def _few_of_each(anchors: Iterable[Anchor]) -> Iterator[Anchor]:
    seen: dict[AnchorKind, int] = {}
    for anchor in anchors:
        seen[anchor.kind] = seen.get(anchor.kind, 0) + 1
        if seen[anchor.kind] <= _MOST_OF_KIND.get(anchor.kind, seen[anchor.kind]):
            yield anchor


def _bare(entry: str) -> str:
    return entry.strip().strip("`")


def _fitting(texts: Iterable[str], body: str, limit_tokens: int, counter: TokenCounter) -> list[str]:
    used = counter.count(f"\n\n## {Section.ANCHORS}\n")
    lines: list[str] = []
    figures = 0
    for text in dict.fromkeys(texts):
        figures += text[:1].isdigit()
        if not text or text in body or (text[:1].isdigit() and figures > _MOST_OF_KIND[AnchorKind.FIGURE]):
            continue
        line = f"- `{text}`"
        used += counter.count(line) + 1
        if used > limit_tokens:
            break
        lines.append(line)
    return lines


def kept_and_lost(anchors: Iterable[Anchor], summary: str) -> tuple[tuple[Anchor, ...], tuple[Anchor, ...]]:
    """The anchors whose exact string stands in `summary`, and those that don't."""
    kept: list[Anchor] = []
    lost: list[Anchor] = []
    for anchor in anchors:
        (kept if anchor.text in summary else lost).append(anchor)
    return tuple(kept), tuple(lost)
