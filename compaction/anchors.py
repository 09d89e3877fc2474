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

from compaction.commands import command_key, command_of, commit_subject, is_telling_command
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
    """One exact string.

    count: in how many messages it occurs. spoken: in how many of them it was said or used in a call, not only printed
    by a tool. last_message: the newest one, by its number.
    """

    kind: AnchorKind
    text: str
    count: int
    spoken: int
    last_message: int


# How much one anchor is worth beside its use: what can't be found again in the files comes first.
_WEIGHTS: Final = {
    AnchorKind.ERROR: 4,
    AnchorKind.COMMAND: 3,
    AnchorKind.PATH: 4,
    AnchorKind.URL: 3,
    AnchorKind.HASH: 3,
    AnchorKind.IDENTIFIER: 4,
    AnchorKind.FIGURE: 1,
}
# Kinds that come in swarms: beyond a few of them they only push out what is rarer.
_MOST_OF_KIND: Final = {AnchorKind.FIGURE: 6, AnchorKind.HASH: 6, AnchorKind.ERROR: 5}
# No kind takes more than this share of the room while others still have something to say.
_MOST_SHARE: Final = 0.45
# Strings of the rows just covered come first, but leave room for what earlier summaries carried on.
_FRESH_SHARE: Final = 0.6
_LONGEST_CHARS: Final = 160
_SCANNED_CHARS: Final = 40_000
_PATTERNS: Final = (
    (AnchorKind.URL, re.compile(r"https?://[^\s<>\"'`)\]}\\]{4,200}")),
    (AnchorKind.HASH, re.compile(r"\b(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{7,12})\b")),
    (
        AnchorKind.IDENTIFIER,
        re.compile(
            r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|\b[A-Z]{2,10}-\d{1,6}\b|(?<![\w&])#\d{2,6}\b|"
            # Codes such as S61CZX and HAT136, and names that end in a number: credit_card_4421.
            r"(?<![\w/.-])(?=[A-Z0-9]*[A-Z])(?=[A-Z0-9]*\d)[A-Z0-9]{5,12}(?![\w/-])|(?<![\w/.-])[a-z]+(?:_[a-z]+)*_\d{3,12}\b"
        ),
    ),
    (AnchorKind.PATH, re.compile(r"(?<![\w:/.])(?:~|\.{1,2})?/?(?:[\w.@-]+/)+[\w.@-]*\.?\w+(?::\d+)?")),
    (
        AnchorKind.FIGURE,
        re.compile(
            r"(?<![\w.])\d+(?:[.,]\d+)*\s?"
            r"(?:ms|s|min|h|kB|KB|MB|GB|MiB|GiB|tokens?|rows?|%|px|req/s|rps|次|秒|毫秒|行|个)(?!\w)"
        ),
    ),
)
_ERROR_LINE: Final = re.compile(
    r"^(?!\s*\d+\s*[→|:]).*\b(?:[A-Z]\w*(?:Error|Exception)\b|FAILED\b|fatal:|panic:|exit code [1-9]\d*\b)"
    r".*[^;,{(\s]\s*$",
    re.MULTILINE,
)
_DIGIT: Final = re.compile(r"\d")
_LETTER: Final = re.compile(r"[a-f]")
_ID_KEY: Final = re.compile(
    r"(?:^|_|(?<=[a-z]))(?:id|ID|Id|number|code|branch|ref|sha|email|host|port|version|name)s?$"
)


def find_anchors(messages: Sequence[Message]) -> tuple[Anchor, ...]:
    """The anchors of `messages`, best first, each once. The messages must be redacted already."""
    counts: dict[tuple[AnchorKind, str], tuple[int, int, int]] = {}
    for number, message in enumerate(messages):
        spoken = dict.fromkeys(_spoken(message))
        for key in (*spoken, *(key for key in dict.fromkeys(_printed(message)) if key not in spoken)):
            count, said, _last = counts.get(key, (0, 0, 0))
            counts[key] = (count + 1, said + (key in spoken), number)
    anchors = [Anchor(kind, text, *found) for (kind, text), found in counts.items()]
    ranked = sorted(anchors, key=lambda anchor: (-_worth(anchor, len(messages)), anchor.text))
    return tuple(_without_shorter_paths(ranked))


def _worth(anchor: Anchor, messages: int) -> float:
    recency = (anchor.last_message + 1) / max(1, messages)
    used = 2 * min(anchor.spoken, 3) + 0.3 * min(anchor.count, 5)
    # What only a tool printed may be one line of a long listing.
    heard = 0 if anchor.spoken or anchor.kind is AnchorKind.ERROR else -4
    return _WEIGHTS[anchor.kind] + used + heard + 2 * recency


def _without_shorter_paths(ranked: Iterable[Anchor]) -> Iterator[Anchor]:
    """Without paths that another one ends with or lies under: the longer one tells both."""
    paths = [f"/{anchor.text.lstrip('/')}" for anchor in ranked if anchor.kind is AnchorKind.PATH]
    folders = {path[:cut] for path in paths for cut in range(1, len(path)) if path[cut] == "/"}
    ends = {path[cut:] for path in paths for cut in range(1, len(path)) if path[cut] == "/"}
    for anchor in ranked:
        path = f"/{anchor.text.lstrip('/')}"
        if anchor.kind is not AnchorKind.PATH or (path not in folders and path not in ends):
            yield anchor


def _spoken(message: Message) -> Iterator[tuple[AnchorKind, str]]:
    """What a person or the agent wrote, the agent's calls included."""
    for call in message.tool_calls:
        command = command_of(call.arguments)
        if command and is_telling_command(command) and not commit_subject(command):
            yield AnchorKind.COMMAND, _shortened(command_key(command))
        elif not command:
            yield from _identifiers(call.arguments)
        yield from _in_text(call.arguments)
    if message.role is not Role.TOOL:
        yield from _in_text(message.text)


def _printed(message: Message) -> Iterator[tuple[AnchorKind, str]]:
    if message.role is Role.TOOL:
        yield from _in_text(message.text)
        for found in list(_ERROR_LINE.finditer(message.text[:_SCANNED_CHARS]))[:3]:
            yield AnchorKind.ERROR, _shortened(found[0])


def _identifiers(arguments: str) -> Iterator[tuple[AnchorKind, str]]:
    """Short arguments whose names say that they identify something."""
    try:
        loaded = json.loads(arguments)
    except (ValueError, RecursionError):
        return
    for key, value in loaded.items() if isinstance(loaded, dict) else ():
        is_short = isinstance(value, str) and 3 < len(value) <= 64 and "\n" not in value
        if is_short and _ID_KEY.search(key) and _DIGIT.search(value) and _is_telling(AnchorKind.IDENTIFIER, value):
            yield AnchorKind.IDENTIFIER, value


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
    """Whether a path names a file or a place worth remembering: not the sides of a diff, not an import, not an address
    with a number in it that stands for one of many."""
    parts = [part for part in text.split("/") if part]
    if parts[0] in ("a", "b", ".", "..") or any(part.isdigit() for part in parts):
        return False
    if "." in parts[-1].strip("."):
        return True
    # Words joined by slashes in prose look like folders.
    return len(parts) > 2 and (text.startswith(("/", "~")) or text == text.lower())


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_CHARS else line[: _LONGEST_CHARS - 1] + "…"


def attach_anchors(
    text: str, earlier: str, messages: Sequence[Message], limit_tokens: int, counter: TokenCounter
) -> str:
    """`text` with an anchor section of at most `limit_tokens`: strings of the newly covered rows, and those the earlier
    summary carried. Strings that stand in the text anyway are not repeated."""
    body, said = split_off(text, Section.ANCHORS)
    _, carried = split_off(earlier, Section.ANCHORS)
    fresh = [anchor for anchor in find_anchors(messages) if anchor.text not in body]
    older = [bare for bare in dict.fromkeys(map(_bare, (*said, *carried))) if bare and bare not in body]
    lines = _fitting(fresh, older, limit_tokens, counter)
    return f"{body}\n\n## {Section.ANCHORS}\n" + "\n".join(lines) if lines else body


def _bare(entry: str) -> str:
    return entry.strip().strip("`")


def _fitting(fresh: Sequence[Anchor], older: Sequence[str], limit_tokens: int, counter: TokenCounter) -> list[str]:
    """Lines within the limit: the best fresh ones, then older ones, then whatever else is fresh."""
    room = limit_tokens - counter.count(f"\n\n## {Section.ANCHORS}\n") - 1
    first = _within(fresh, int(room * (_FRESH_SHARE if older else 1)), counter)
    taken = set(first)
    lines = list(first)
    used = sum(_cost(line, counter) for line in lines)
    for text in (*older, *(anchor.text for anchor in fresh if anchor.kind not in _MOST_OF_KIND)):
        line = f"- `{text}`"
        cost = _cost(line, counter)
        if line not in taken and used + cost <= room:
            lines.append(line)
            taken.add(line)
            used += cost
    return lines


def _within(anchors: Iterable[Anchor], room: int, counter: TokenCounter) -> list[str]:
    """The best anchors within `room` tokens, no kind crowding out the others."""
    lines: list[str] = []
    used = 0
    tokens_of: dict[AnchorKind, int] = {}
    number_of: dict[AnchorKind, int] = {}
    for anchor in anchors:
        line = f"- `{anchor.text}`"
        cost = _cost(line, counter)
        tokens = tokens_of.get(anchor.kind, 0) + cost
        number = number_of.get(anchor.kind, 0) + 1
        is_crowding = tokens > room * _MOST_SHARE or number > _MOST_OF_KIND.get(anchor.kind, number)
        if is_crowding or used + cost > room:
            continue
        lines.append(line)
        used += cost
        tokens_of[anchor.kind], number_of[anchor.kind] = tokens, number
    return lines


def _cost(line: str, counter: TokenCounter) -> int:
    return counter.count(line) + 1


def kept_and_lost(anchors: Iterable[Anchor], summary: str) -> tuple[tuple[Anchor, ...], tuple[Anchor, ...]]:
    """The anchors whose exact string stands in `summary`, and those that don't."""
    kept: list[Anchor] = []
    lost: list[Anchor] = []
    for anchor in anchors:
        (kept if anchor.text in summary else lost).append(anchor)
    return tuple(kept), tuple(lost)
