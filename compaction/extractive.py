"""The extractive summarizer: a summary without a model, the offline default and the last resort of a batch.

It quotes, it never rephrases: sentences chosen by cues and by the exact strings they carry, facts of the tools, what
the user forbade (see `extraction`). They are merged, section by section, into what the earlier summary holds (see
`entries`); when the budget is full the least telling entries go first. The same input gives the same output, and the
summary says how it was made (ENGINE 13).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from compaction.entries import Entry, earlier_entries, merge
from compaction.extraction import extract, last_words
from compaction.sections import Section, parse_sections, render_sections
from compaction.sentences import clip, is_chinese
from compaction.summarizer import Purpose, Reply, SummaryRequest
from compaction.tokens import TokenCounter

NOTE: Final = "(Extracted without a model: what follows is quoted, not rephrased.)"
NOTE_ZH: Final = "（未使用模型：以下均为原文摘录，未作改写。）"
# A defrag must make room for several passes, whatever its budget says (ENGINE 6).
_DEFRAG_SHARE: Final = 0.6
_SHORTENED_CHARS: Final = (200, 120, 60, 30)
# No section may crowd out the others while these still have something to say: its share of the budget.
_MOST_SHARE: Final = {
    Section.CONSTRAINTS: 0.35,
    Section.STATE: 0.12,
    Section.ASKS: 0.08,
    Section.REMAINING: 0.12,
    Section.DECISIONS: 0.22,
    Section.ERRORS: 0.18,
    Section.COMPLETED: 0.32,
    Section.FILES: 0.22,
}


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
        """A summary of at most `request.budget_tokens`; empty only when that holds no entry at all, however short."""
        sections = parse_sections(request.earlier)
        fresh = extract(request.messages)
        known = earlier_entries(sections, (NOTE, NOTE_ZH))
        earlier = [entry for entry in known if entry.section not in fresh.outdated]
        entries = merge(earlier, fresh.entries) or [last_words(request.messages)]
        frame = _Frame(
            note=NOTE_ZH if _is_chinese(request) else NOTE,
            last_action=sections.last_action + _count(entries) - _count(merge(earlier, ())),
            with_empty=request.purpose is Purpose.BATCH,
        )
        text = self._fit(entries, self._budget_tokens(request), frame)
        return Reply(text=text, finish_reason="stop", model=self.model)

    def _budget_tokens(self, request: SummaryRequest) -> int:
        if request.purpose is not Purpose.DEFRAG:
            return request.budget_tokens
        return min(request.budget_tokens, int(self._counter.count(request.earlier) * _DEFRAG_SHARE))

    def _fit(self, entries: list[Entry], budget_tokens: int, frame: _Frame) -> str:
        """The most valuable entries that fit, in their order. Costs of entries are measured once and added up."""
        by_worth = sorted(range(len(entries)), key=lambda index: (-entries[index].worth, -index))
        costs = [self._counter.count(f"- {entry.text}\n") + 1 for entry in entries]
        room = budget_tokens - self._counter.count(_render([], frame))
        chosen = _choose(entries, costs, by_worth, room)
        kept = [entries[index] for index in sorted(chosen)]
        while kept and self._counter.count(_render(kept, frame)) > budget_tokens:
            kept.remove(min(kept, key=lambda entry: entry.worth))
        return _render(kept, frame) if kept else self._shortest(entries, budget_tokens, frame)

    def _shortest(self, entries: list[Entry], budget_tokens: int, frame: _Frame) -> str:
        """The most valuable entry alone, shortened until it fits: a summary that tells nothing is none."""
        best = max(entries, key=lambda entry: entry.worth)
        bare = replace(frame, with_empty=False)
        texts = (_render([replace(best, text=clip(best.text, chars))], bare) for chars in _SHORTENED_CHARS)
        return next((text for text in texts if self._counter.count(text) <= budget_tokens), "")


def _is_chinese(request: SummaryRequest) -> bool:
    said = " ".join(message.text[:500] for message in request.messages if message.text)
    return is_chinese(said or request.earlier)


def _count(entries: Iterable[Entry]) -> int:
    return sum(entry.section is Section.COMPLETED for entry in entries)


def _choose(entries: list[Entry], costs: list[int], by_worth: list[int], room: int) -> set[int]:
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


def _render(entries: Iterable[Entry], frame: _Frame) -> str:
    by_section: dict[Section, list[str]] = {Section.TASK: [frame.note]}
    for entry in sorted(entries, key=lambda entry: entry.rank):
        by_section.setdefault(entry.section, []).append(entry.text)
    first_action = max(1, frame.last_action - len(by_section.get(Section.COMPLETED, ())) + 1)
    return render_sections(by_section, first_action=first_action, with_empty=frame.with_empty)
