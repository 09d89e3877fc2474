"""The extractive summarizer: a summary without a model, the offline default and the last resort of a batch.

It quotes, it never rephrases: sentences chosen by cues and by the exact strings they carry, facts of the tools, what
the user forbade. They are merged, section by section, into what the earlier summary holds; when the budget is full the
least telling entries go first. The same input gives the same output, and the summary says how it was made (ENGINE 13).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from compaction.messages import Message, Role
from compaction.sections import Section, Sections, parse_sections, render_sections
from compaction.sentences import Cue, clip, cue_of, is_chinese, sentences
from compaction.summarizer import Purpose, Reply, SummaryRequest
from compaction.tokens import TokenCounter
from compaction.tool_facts import ToolFact, tool_facts

NOTE: Final = "(Extracted without a model: what follows is quoted, not rephrased.)"
NOTE_ZH: Final = "(未经模型:以下内容均为原文摘录,未作改写。)"

_ENTRY_CHARS: Final = 260
_TASK_CHARS: Final = 600
_MOST_PER_MESSAGE: Final = 4
_EXACT: Final = re.compile(r"`[^`]+`|\b[\w.-]+/[\w./-]+\b|\b\w+\(\)|\b\d[\d,.]*\b")
_NUMBERED: Final = re.compile(r"^\s*(\d+)\.\s", re.MULTILINE)

# What an entry is worth when the budget is full: rules outlive everything, what was done long ago goes first.
_WORTH: Final = {
    Section.TASK: 100.0,
    Section.CONSTRAINTS: 60.0,
    Section.DECISIONS: 20.0,
    Section.ERRORS: 14.0,
    Section.ASKS: 12.0,
    Section.REMAINING: 10.0,
    Section.STATE: 12.0,
    Section.FILES: 10.0,
    Section.COMPLETED: 8.0,
    Section.ANCHORS: 1.0,
}
# No section may crowd out the others while these still have something to say: its share of the budget.
_MOST_SHARE: Final = {
    Section.CONSTRAINTS: 0.4,
    Section.DECISIONS: 0.35,
    Section.ERRORS: 0.2,
    Section.FILES: 0.25,
    Section.COMPLETED: 0.2,
}
# Sections that age quickly: only the newest entries say anything.
_NEWEST_KEPT: Final = {Section.STATE: 3, Section.REMAINING: 6, Section.ASKS: 8}
_SECTION_OF_CUE: Final = {
    Cue.RULE: Section.DECISIONS,
    Cue.DECISION: Section.DECISIONS,
    Cue.ERROR: Section.ERRORS,
    Cue.DONE: Section.COMPLETED,
    Cue.PLAN: Section.REMAINING,
}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A candidate for the summary: its section, its text, and what it is worth."""

    section: Section
    text: str
    worth: float


@dataclass(frozen=True, slots=True)
class _Frame:
    """What stands around the entries: how the summary was made, the newest action's number, empty sections or not."""

    note: str
    last_action: int
    with_empty: bool


class ExtractiveSummarizer:
    """Answers every request from the text it is given. Needs the counter by which budgets are measured."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter

    @property
    def model(self) -> str:
        """What stands in for a model's name."""
        return "extractive"

    @property
    def window_tokens(self) -> int | None:
        """No limit: the whole input is read as text."""
        return None

    def ask(self, request: SummaryRequest) -> Reply:
        """A summary of at most `request.budget_tokens`, never empty."""
        fresh = list(_new_entries(request.messages))
        entries = _distinct([*_earlier_entries(parse_sections(request.earlier)), *fresh])
        entries = entries or [_last_words(request.messages)]
        is_zh = is_chinese(" ".join(message.text[:500] for message in request.messages) or request.earlier)
        frame = _Frame(
            note=NOTE_ZH if is_zh else NOTE,
            last_action=_last_number(request.earlier) + sum(entry.section is Section.COMPLETED for entry in fresh),
            with_empty=request.purpose is Purpose.BATCH,
        )
        text = self._fit(entries, request.budget_tokens, frame)
        return Reply(text=text, finish_reason="stop", model=self.model, duration_ms=0)

    def _fit(self, entries: list[_Entry], budget_tokens: int, frame: _Frame) -> str:
        """The most valuable entries that fit, in their order. Costs of entries are measured once and added up."""
        by_worth = sorted(range(len(entries)), key=lambda index: (-entries[index].worth, -index))
        costs = [self._counter.count(f"- {entry.text}\n") + 1 for entry in entries]
        room = budget_tokens - self._counter.count(_render([], frame))
        chosen = _choose(entries, costs, by_worth, room)
        kept = [entries[index] for index in sorted(chosen)]
        while kept and self._counter.count(_render(kept, frame)) > budget_tokens:
            kept.remove(min(kept, key=lambda entry: entry.worth))
        return _render(kept, frame)


def _choose(entries: list[_Entry], costs: list[int], by_worth: list[int], room: int) -> set[int]:
    """Indices of the entries to keep within `room` tokens: first each section within its share, then whatever fits."""
    chosen: set[int] = set()
    used_by_section: dict[Section, int] = {}
    limits = {section: int(room * share) for section, share in _MOST_SHARE.items()}
    for is_shared in (True, False):
        for index in by_worth:
            section, cost = entries[index].section, costs[index]
            used = used_by_section.get(section, 0)
            if index in chosen or cost > room or (is_shared and used + cost > limits.get(section, room)):
                continue
            chosen.add(index)
            room -= cost
            used_by_section[section] = used + cost
    return chosen


def _render(entries: Iterable[_Entry], frame: _Frame) -> str:
    by_section: dict[Section, list[str]] = {Section.TASK: [frame.note]}
    for entry in entries:
        by_section.setdefault(entry.section, []).append(entry.text)
    first_action = max(1, frame.last_action - len(by_section.get(Section.COMPLETED, ())) + 1)
    return render_sections(by_section, first_action=first_action, with_empty=frame.with_empty)


def _last_number(earlier: str) -> int:
    """The highest number among the earlier completed actions."""
    return max((int(found) for found in _NUMBERED.findall(earlier)), default=0)


def _earlier_entries(earlier: Sections) -> Iterator[_Entry]:
    """What the earlier summary holds. Later entries of a section are newer, and newer ones are worth more."""
    if earlier.preface:
        yield _Entry(Section.STATE, clip(" ".join(earlier.preface.split()), _ENTRY_CHARS), _WORTH[Section.STATE] * 0.5)
    for section in Section:
        texts = [text for text in earlier.of(section) if text not in (NOTE, NOTE_ZH)]
        for index, text in enumerate(texts, start=1):
            yield _Entry(section, text, _WORTH[section] * (0.4 + 0.3 * index / len(texts)))


def _new_entries(messages: tuple[Message, ...]) -> Iterator[_Entry]:
    for message in messages:
        if message.role is Role.USER:
            yield from _from_user(message.text)
        elif message.role is Role.ASSISTANT:
            yield from _from_assistant(message.text)
    yield from _from_tools(list(tool_facts(messages)))
    yield from _task(messages)


def _last_words(messages: tuple[Message, ...]) -> _Entry:
    """What to say when nothing is worth quoting: the last text there was, else what the rows consisted of."""
    text = next((message.text for message in reversed(messages) if message.text.strip()), "")
    names = ", ".join(dict.fromkeys(call.name for message in messages for call in message.tool_calls))
    without_text = f"{len(messages)} rows without text" + (f"; called {names}" if names else "")
    told = clip(" ".join(text.split()), _ENTRY_CHARS) or without_text
    return _Entry(Section.STATE, told, _WORTH[Section.STATE])


def _task(messages: tuple[Message, ...]) -> Iterator[_Entry]:
    """The newest request, as it was put."""
    asked = [message.text for message in messages if message.role is Role.USER and message.text.strip()]
    if asked:
        yield _Entry(Section.TASK, clip(" ".join(asked[-1].split()), _TASK_CHARS), _WORTH[Section.TASK])


def _from_user(text: str) -> Iterator[_Entry]:
    for sentence in sentences(text):
        cue = cue_of(sentence)
        if cue is Cue.RULE:
            yield _Entry(Section.CONSTRAINTS, f'"{clip(sentence, _ENTRY_CHARS)}"', _WORTH[Section.CONSTRAINTS])
        elif cue is Cue.QUESTION:
            yield _Entry(Section.ASKS, f'"{clip(sentence, _ENTRY_CHARS)}"', _WORTH[Section.ASKS])
        elif cue is Cue.DECISION:
            yield _Entry(Section.DECISIONS, f'"{clip(sentence, _ENTRY_CHARS)}"', _WORTH[Section.DECISIONS] + 2)


def _from_assistant(text: str) -> Iterator[_Entry]:
    """The most telling sentences of one message, in their order."""
    found = [(index, sentence, cue_of(sentence)) for index, sentence in enumerate(sentences(text))]
    scored = [(_score(sentence, cue, index, len(found)), index, sentence, cue) for index, sentence, cue in found]
    best = sorted(sorted(scored, key=lambda item: (-item[0], item[1]))[:_MOST_PER_MESSAGE], key=lambda item: item[1])
    for score, _index, sentence, cue in best:
        section = _SECTION_OF_CUE.get(cue)
        if section is not None and score > 0:
            yield _Entry(section, clip(sentence, _ENTRY_CHARS), _WORTH[section] + score)
    if found and not any(cue in _SECTION_OF_CUE for _, _, cue in found):
        sentence = found[-1][1]
        yield _Entry(Section.STATE, clip(sentence, _ENTRY_CHARS), _WORTH[Section.STATE] * 0.6)


def _score(sentence: str, cue: Cue, index: int, total: int) -> float:
    """How telling a sentence is: exact strings and cues count, so do the first and the last place."""
    exact = min(3, len(_EXACT.findall(sentence)))
    place = 1.0 if index == total - 1 else 0.5 if index == 0 else 0.0
    length = -1.0 if len(sentence) < 20 and not is_chinese(sentence) else 0.0
    base = {Cue.NONE: -1.0, Cue.QUESTION: -2.0, Cue.PLAN: -0.5}.get(cue, 1.0)
    return base + exact + place + length


def _from_tools(facts: list[ToolFact]) -> Iterator[_Entry]:
    """Files written, commands with a verdict, errors; files that were only read are gathered into one entry."""
    read = []
    for fact in facts:
        if fact.is_error:
            yield _Entry(Section.ERRORS, fact.entry, _WORTH[Section.ERRORS] + 2)
        elif fact.is_write:
            yield _Entry(Section.FILES, f"changed {fact.entry}", _WORTH[Section.FILES] + 3)
        elif fact.is_command:
            yield _Entry(Section.FILES, fact.entry, _WORTH[Section.FILES] + (2 if fact.outcome else 0))
        else:
            read.append(f"`{fact.subject}`")
    if read:
        listed = ", ".join(dict.fromkeys(read))
        yield _Entry(Section.FILES, f"looked at {clip(listed, _ENTRY_CHARS)}", _WORTH[Section.FILES] - 4)


def _distinct(entries: list[_Entry]) -> list[_Entry]:
    """Each text once, at the place and with the worth of its last mention; of the task only the newest is kept, and
    of sections that age quickly only the newest entries."""
    newest: dict[tuple[Section, str], _Entry] = {}
    for entry in entries:
        key = (entry.section, "" if entry.section is Section.TASK else " ".join(entry.text.casefold().split()))
        newest.pop(key, None)
        newest[key] = entry
    kept = list(newest.values())
    for section, most in _NEWEST_KEPT.items():
        aged = {id(entry) for entry in [entry for entry in kept if entry.section is section][:-most]}
        kept = [entry for entry in kept if id(entry) not in aged]
    return kept
