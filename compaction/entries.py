"""Entries: the lines of a summary as things that can be merged, updated and dropped one by one.

An entry knows its section, what makes it the same as another entry (`key`), and what it is worth when the budget is
full. Newer entries replace older ones with the same key: a file changed again, a command that passes now.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from compaction.commands import command_key
from compaction.sections import Section, Sections
from compaction.sentences import clip

PASSES_NOW: Final = "passes now"
ENTRY_CHARS: Final = 260

# What an entry is worth when the budget is full: rules outlive everything, what was done long ago goes first.
WORTH: Final = {
    Section.TASK: 100.0,
    Section.CONSTRAINTS: 60.0,
    Section.STATE: 30.0,
    Section.ASKS: 24.0,
    Section.REMAINING: 20.0,
    Section.DECISIONS: 18.0,
    Section.ERRORS: 14.0,
    Section.COMPLETED: 14.0,
    Section.FILES: 12.0,
    Section.ANCHORS: 1.0,
}
# Sections that age quickly: only the newest entries say anything.
_NEWEST_KEPT: Final = {Section.STATE: 2, Section.ASKS: 6, Section.REMAINING: 6}
_LISTED: Final = re.compile(r"^(changed|ran) `([^`]+)`")
_FAILED: Final = re.compile(r"^`([^`]+)` failed")
_WORDS: Final = re.compile(r"[\w./-]+|[\u4e00-\u9fff]")
_CHANGED: Final = "Changed files: "
_MOST_JOINED: Final = 8
_SAME_SHARE: Final = 0.75
_LEAST_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a section. worth: greater stays longer."""

    section: Section
    text: str
    worth: float

    @property
    def key(self) -> tuple[str, ...]:
        """What makes another entry the same one: the section with the file, the command, or the words."""
        listed = _LISTED.match(self.text)
        if listed:
            return (self.section, listed[1], command_key(listed[2]).casefold())
        failed = _FAILED.match(self.text)
        if failed:
            return (self.section, "failed", command_key(failed[1]).casefold())
        if self.section is Section.TASK or self.text.startswith("read `"):
            return (self.section, self.text[:4] if self.section is not Section.TASK else "")
        return (self.section, " ".join(self.text.casefold().split()))

    @property
    def rank(self) -> int:
        """Order within the section beside age: files that changed, commands, files that were read."""
        ranks = (rank for rank, opening in enumerate(_RANKS) if self.text.startswith(opening))
        return next(ranks, 0) if self.section is Section.FILES else 0


_RANKS: Final = ("changed ", "ran ", "read ")


def earlier_entries(earlier: Sections, notes: Iterable[str]) -> Iterator[Entry]:
    """What the earlier summary holds, without the lines in `notes`. Later in its section is newer and worth more."""
    known = frozenset(notes)
    if earlier.preface:
        for line in earlier.preface.splitlines():
            yield Entry(Section.DECISIONS, clip(" ".join(line.split()), ENTRY_CHARS), WORTH[Section.DECISIONS] * 0.5)
    for section in Section:
        entries = [Entry(section, text, WORTH[section]) for text in earlier.of(section) if text not in known]
        ranks = Counter(entry.rank for entry in entries)
        seen: Counter[int] = Counter()
        for entry in entries:
            seen[entry.rank] += 1
            recency = seen[entry.rank] / ranks[entry.rank]
            yield replace(entry, worth=entry.worth * (0.35 + 0.4 * recency))


def merge(earlier: Sequence[Entry], fresh: Sequence[Entry]) -> list[Entry]:
    """Both, each thing once at its newest place; commands that pass now are no open errors; old states are dropped."""
    passing = {entry.key[2] for entry in fresh if entry.key[:2] == (Section.FILES, "ran")}
    settled = [_settled(entry, passing) for entry in earlier]
    newest: dict[tuple[str, ...], Entry] = {}
    for entry in (*settled, *fresh):
        newest.pop(entry.key, None)
        newest[entry.key] = entry
    kept = list(newest.values())
    kept = _with_changes_joined(kept)
    for section, most in _NEWEST_KEPT.items():
        aged = {id(entry) for entry in [entry for entry in kept if entry.section is section][:-most]}
        kept = [entry for entry in kept if id(entry) not in aged]
    return _without_repeats(kept)


def _settled(entry: Entry, passing: set[str]) -> Entry:
    """An error of a command that passes by now says so."""
    key = entry.key
    if key[:2] != (Section.ERRORS, "failed") or key[2] not in passing or PASSES_NOW in entry.text:
        return entry
    return replace(entry, text=f"{entry.text} → {PASSES_NOW}", worth=entry.worth * 0.7)


def _with_changes_joined(entries: Sequence[Entry]) -> list[Entry]:
    """With neighbouring actions that only name changed files as one: it is one piece of work."""
    joined: list[Entry] = []
    last: int | None = None
    for entry in entries:
        if entry.section is Section.COMPLETED:
            names = _changed_names(entry)
            before = _changed_names(joined[last]) if last is not None else ()
            if last is not None and names and before and len({*before, *names}) <= _MOST_JOINED:
                del joined[last]
                entry = replace(entry, text=changed_files([*before, *names]))
            last = len(joined)
        joined.append(entry)
    return joined


def changed_files(names: Iterable[str]) -> str:
    """An action that is known only by the files it changed."""
    return f"{_CHANGED}{', '.join(f'`{name}`' for name in dict.fromkeys(names))}"


def _changed_names(entry: Entry) -> tuple[str, ...]:
    return tuple(entry.text.removeprefix(_CHANGED).strip("`").split("`, `")) if entry.text.startswith(_CHANGED) else ()


def _without_repeats(entries: list[Entry]) -> list[Entry]:
    """Without entries whose words a newer entry of the same section says again."""
    words = [frozenset(_WORDS.findall(entry.text.casefold())) for entry in entries]
    kept: list[int] = []
    for index in reversed(range(len(entries))):
        repeated = len(words[index]) >= _LEAST_WORDS and any(
            entries[other].section is entries[index].section and _say_the_same(words[index], words[other])
            for other in kept
        )
        if not repeated:
            kept.append(index)
    return [entries[index] for index in reversed(kept)]


def _say_the_same(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= _SAME_SHARE * max(len(one), len(other)) or shared == len(one)
