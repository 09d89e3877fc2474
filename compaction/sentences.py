"""Prose as sentences: what an agent or a user said, taken apart into pieces that can be quoted on their own.

Code, tables, heading marks, bullets, courtesies and openers ("Perfect!", "You're right,") are left out. A line that
announces a list is joined with its items, because neither says anything without the other. Nothing else is changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)|<(\w+)>\s*\{.*?\}\s*</\1>", re.DOTALL)
_TABLE_OR_RULE: Final = re.compile(r"^\s*(?:\|.*|[-=*_]{3,}\s*)$")
_HEADING: Final = re.compile(r"^\s*(?:#{1,6}\s+(.*?)\s*#*|\*\*([^*]{2,60})\*\*:?)\s*$")
_BULLET: Final = re.compile(r"^\s*(?:>\s*)*(?:[-*•]|\d{1,3}[.)、]|[✅✓❌☑✔️]+)\s+")
_MARKS: Final = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|[✅✓✔❌☑🎉🚀✨️]")
_BOUNDARY: Final = re.compile(r"(?<=[.!?])[\"')]?\s+(?=[A-Z\"'`(\[])|(?<=[。！？；])")
_ANNOUNCES: Final = re.compile(r"[:：]\s*$")
_CJK: Final = re.compile("[\u4e00-\u9fff]")
_OPENER: Final = re.compile(
    r"^(?:you(?:['’]re| are) (?:absolutely |completely |totally )?(?:right|correct)|good (?:question|catch|point|idea)|"
    r"great(?: question| point| catch)?|perfect|excellent|awesome|sure|ok(?:ay)?|yes|no problem|got it|i see|ah|hm+|"
    r"right|wonderful|nice|of course|certainly|absolutely|alright|now|wait|actually|so|indeed|"
    r"好的|好|当然(?:可以)?|没问题|明白了|是的|对)(?:\s*[!.,:;—–-]+\s*|[！。，：]\s*)",
    re.IGNORECASE,
)
# Courtesies say nothing about the work, whatever words they hold.
_COURTESY: Final = re.compile(
    r"\b(?:have a (?:great|good|nice|wonderful|fantastic|lovely)|feel free|let me know|happy to (?:help|assist)|"
    r"looking forward|you['’]re welcome|here to (?:help|assist)|"
    r"(?:any|anything)\b.{0,40}\b(?:questions|assist\w*|help)|"
    r"thank you|thanks for|safe travels|how can i (?:help|assist)|how may i)\b|"
    r"不客气|随时告诉我|祝你|祝您|还有什么|需要帮助|很高兴",
    re.IGNORECASE,
)
_CODE: Final = re.compile(
    r"[;{}]$|^(?:def|class|import|from|const|let|var|return|int|public|private|func|fn)\s\S+.*[=(:]"
)
_MOST_SCANNED_CHARS: Final = 60_000
_JOINED_CHARS: Final = 240
_LEAST_CHARS: Final = 12


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece that can be quoted. heading: the nearest heading above it, empty when there is none."""

    text: str
    heading: str = ""


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of `text`, in order."""
    heading = ""
    for line, is_heading in _joined_lines(_FENCED.sub("\n", text[:_MOST_SCANNED_CHARS])):
        if is_heading:
            heading = line
            continue
        for piece in _BOUNDARY.split(line):
            cleaned = _cleaned(piece)
            if _says_something(cleaned):
                yield Sentence(cleaned, heading)


def is_chinese(text: str) -> bool:
    """Whether a fair part of `text` is written in Chinese."""
    sample = text[:2_000]
    return len(_CJK.findall(sample)) * 5 >= len(sample) > 0


def clip(text: str, limit_chars: int) -> str:
    """`text` within `limit_chars`, cut at a word where there is one, with a mark when something is missing."""
    if len(text) <= limit_chars:
        return text
    cut = text[: limit_chars - 1]
    space = cut.rfind(" ", limit_chars // 2)
    return (cut[:space] if space > 0 else cut).rstrip(" ,;:") + "…"


def _joined_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Lines without bullets; a line that announces a list comes with as many of its items as fit. Headings are told."""
    announced: list[str] = []
    for raw in text.splitlines():
        if not raw.strip() or _TABLE_OR_RULE.match(raw):
            continue
        heading = _HEADING.match(raw)
        line = _MARKS.sub("", _BULLET.sub("", heading[1] or heading[2] if heading else raw)).strip()
        if announced and _BULLET.match(raw):
            announced.append(line.rstrip(" :："))
            continue
        yield from _told(announced)
        announced = []
        if heading:
            yield line.rstrip(":： "), True
        elif _ANNOUNCES.search(line):
            announced = [line]
        else:
            yield line, False
    yield from _told(announced)


def _told(announced: list[str]) -> Iterator[tuple[str, bool]]:
    """An announced list as one line; an announcement without a list says nothing."""
    if len(announced) < 2:
        return
    joined = announced[0]
    for count, item in enumerate(announced[1:]):
        if len(joined) + len(item) > _JOINED_CHARS:
            joined += " …" if count else f" {clip(item, _JOINED_CHARS)}"
            break
        joined += f"{'; ' if count else ' '}{item.rstrip('.;。；')}"
    yield joined, False


def _cleaned(piece: str) -> str:
    text = " ".join(piece.split()).strip("*_ ")
    for _ in range(3):
        shorter = _OPENER.sub("", text)
        if shorter == text or not shorter:
            break
        text = shorter[:1].upper() + shorter[1:]
    return text


def _says_something(text: str) -> bool:
    if _CODE.search(text):
        return False
    if len(_CJK.findall(text)) >= 4:
        return not _COURTESY.search(text)
    return len(text) >= _LEAST_CHARS and " " in text and not _COURTESY.search(text)
