"""The sections of a summary: their names, their order, and how a foreign structure is brought into it (ENGINE 8.4).

A summary is a list of headings with entries below them. Headings of other wording are folded into ours, missing ones
are added empty; both are reported, so a page can show what a model made of its instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Section(StrEnum):
    """The headings, in order. None of them reads as live work, and the stale ones say so."""

    TASK = "Historical Task Snapshot"
    STATE = "Historical In-Progress State"
    ASKS = "Historical Pending User Asks"
    REMAINING = "Historical Remaining Work"
    COMPLETED = "Completed Actions"
    DECISIONS = "Key Decisions"
    CONSTRAINTS = "Constraints"
    FILES = "Files and Commands"
    ERRORS = "Errors and Fixes"
    ANCHORS = "Exact Anchors"


STALE_SECTIONS: Final = frozenset({Section.ASKS, Section.REMAINING})
STALE_MARK: Final = "(STALE: as of the compaction)"
_EMPTY: Final = "(none)"
_HEADING: Final = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$")
_ENTRY: Final = re.compile(r"^(?:[-*•]\s+|\d+[.)]\s+)")
_NUMBER: Final = re.compile(r"^\s*(\d{1,6})[.)]\s")

# Words in foreign headings, most telling first, and the section they belong to.
_FOREIGN_WORDS: Final = (
    ("pending", Section.ASKS),
    ("question", Section.ASKS),
    ("blocked", Section.ASKS),
    ("remaining", Section.REMAINING),
    ("next step", Section.REMAINING),
    ("to do", Section.REMAINING),
    ("todo", Section.REMAINING),
    ("completed", Section.COMPLETED),
    ("done", Section.COMPLETED),
    ("constraint", Section.CONSTRAINTS),
    ("preference", Section.CONSTRAINTS),
    ("rule", Section.CONSTRAINTS),
    ("error", Section.ERRORS),
    ("fix", Section.ERRORS),
    ("file", Section.FILES),
    ("command", Section.FILES),
    ("decision", Section.DECISIONS),
    ("progress", Section.STATE),
    ("state", Section.STATE),
    ("current", Section.STATE),
    ("task", Section.TASK),
    ("goal", Section.TASK),
    ("request", Section.TASK),
    ("anchor", Section.ANCHORS),
)


@dataclass(frozen=True, slots=True)
class Sections:
    """A summary taken apart. entries: per section, in order, without bullets or numbers.

    folded: foreign headings that were folded in. missing: sections the text did not have. preface: text in front of
    the first heading. last_action: the highest number among the completed actions, 0 when there is none.
    """

    entries: Mapping[Section, tuple[str, ...]]
    folded: tuple[str, ...] = ()
    missing: tuple[Section, ...] = ()
    preface: str = ""
    last_action: int = 0

    def of(self, section: Section) -> tuple[str, ...]:
        """The entries of `section`; none when it is empty or missing."""
        return self.entries.get(section, ())


def parse_sections(text: str) -> Sections:
    """`text` as sections. Text without any heading is the preface."""
    found: dict[Section, list[str]] = {}
    folded: list[str] = []
    preface: list[str] = []
    current: Section | None = None
    last_action = 0
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            current, is_foreign = _section_named(heading[1])
            found.setdefault(current, [])
            if is_foreign:
                folded.append(heading[1])
        elif current is None:
            preface.append(line)
        else:
            number = _NUMBER.match(line)
            last_action = max(last_action, int(number[1])) if number and current is Section.COMPLETED else last_action
            _add_line(found[current], line)
    missing = tuple(section for section in Section if section not in found and section is not Section.ANCHORS)
    entries = {section: tuple(lines) for section, lines in found.items()}
    return Sections(MappingProxyType(entries), tuple(folded), missing, "\n".join(preface).strip(), last_action)


def _section_named(heading: str) -> tuple[Section, bool]:
    """The section a heading stands for, and whether it is worded differently."""
    plain = heading.replace(STALE_MARK, "").strip(" :")
    for section in Section:
        if plain.casefold() == section.casefold():
            return section, False
    lowered = plain.casefold()
    return next((section for word, section in _FOREIGN_WORDS if word in lowered), Section.DECISIONS), True


def _add_line(entries: list[str], line: str) -> None:
    """Add a line to the entries of its section: a new entry, or the continuation of the last one."""
    text = line.strip()
    if not text or text in (_EMPTY, STALE_MARK):
        return
    bullet = _ENTRY.match(text)
    if bullet is None and entries and line.startswith("  "):
        entries[-1] += f"\n  {text}"
    else:
        entries.append(text[bullet.end() :] if bullet else text)


def render_sections(entries: Mapping[Section, Iterable[str]], *, first_action: int = 1, with_empty: bool = True) -> str:
    """The sections in order, empty ones too unless `with_empty` is off; actions are numbered from `first_action`."""
    blocks = []
    for section in Section:
        lines = list(entries.get(section, ()))
        if not lines and (section is Section.ANCHORS or not with_empty):
            continue
        blocks.append(f"## {_heading(section)}\n{_body(section, lines, first_action)}")
    return "\n\n".join(blocks)


def _heading(section: Section) -> str:
    return f"{section} {STALE_MARK}" if section in STALE_SECTIONS else section.value


def _body(section: Section, lines: list[str], first_action: int) -> str:
    if not lines:
        return _EMPTY
    if section is Section.COMPLETED:
        return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=first_action))
    if section is Section.TASK:
        # A request may open like a heading; quoted, it stays what it is.
        return "\n".join(f"> {line}" if line.startswith("#") else line for line in lines)
    return "\n".join(f"- {line}" for line in lines)


def split_off(text: str, section: Section) -> tuple[str, tuple[str, ...]]:
    """`text` without `section`, and that section's entries."""
    kept: list[str] = []
    taken: list[str] = []
    is_inside = False
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            is_inside = _section_named(heading[1]) == (section, False)
        if not is_inside:
            kept.append(line)
        elif not heading:
            _add_line(taken, line)
    return "\n".join(kept).strip(), tuple(taken)
