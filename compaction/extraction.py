"""Extraction: which sentences and facts of a stretch of transcript are worth an entry, and in which section.

A stretch is taken exchange by exchange. Of an exchange, the agent's closing text says what came of it; what the agent
said on the way counts only where it found or decided something; what it was about to do counts only where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from compaction.cues import Cue, cue_of, decision_weight, is_rule, telling
from compaction.entries import ENTRY_CHARS, PASSES_NOW, WORTH, Entry, changed_files
from compaction.messages import Message, Role
from compaction.sections import Section
from compaction.sentences import clip, is_chinese, sentences
from compaction.tool_facts import CommandFact, ToolFacts, tool_facts

_TASK_CHARS: Final = 600
_MOST_DONE: Final = 3
_MOST_ON_THE_WAY: Final = 2
_MOST_REMAINING: Final = 3
_MOST_READ: Final = 6
_LEAST_POINT_CHARS: Final = 50
_LONG_ANSWER_CHARS: Final = 600
_MOST_CHANGED_NAMED: Final = 4
# Longer user texts are mostly pasted material, in which "never" and "must" are not the user's.
_LONGEST_USER_TEXT_CHARS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Extraction:
    """New entries in order, and the sections whose earlier entries they make outdated: how things stood before."""

    entries: tuple[Entry, ...]
    outdated: frozenset[Section]


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence of the agent: its cue, how telling it is, and whether it closes the exchange."""

    text: str
    cue: Cue
    telling: float
    is_closing: bool


def extract(messages: Sequence[Message]) -> Extraction:
    """What `messages` are worth."""
    exchanges = list(_exchanges(messages))
    entries = [
        entry
        for number, exchange in enumerate(exchanges, start=1)
        for entry in _from_exchange(exchange, is_last=number == len(exchanges))
    ]
    outdated = {Section.STATE} if messages else set()
    if tool_facts(messages).todos is not None:
        outdated.add(Section.REMAINING)
    return Extraction(tuple(entries), frozenset(outdated))


def last_words(messages: Sequence[Message]) -> Entry:
    """What to say when nothing is worth quoting: the last text there was, else what the rows consisted of."""
    text = next((message.text for message in reversed(messages) if message.text.strip()), "")
    names = ", ".join(dict.fromkeys(call.name for message in messages for call in message.tool_calls))
    without_text = f"{len(messages)} rows without text" + (f"; called {names}" if names else "")
    return Entry(Section.STATE, clip(" ".join(text.split()), ENTRY_CHARS) or without_text, WORTH[Section.STATE])


def _exchanges(messages: Sequence[Message]) -> Iterator[list[Message]]:
    exchange: list[Message] = []
    for message in messages:
        if message.role is Role.USER and exchange and exchange[-1].role is not Role.USER:
            yield exchange
            exchange = []
        exchange.append(message)
    if exchange:
        yield exchange


def _from_exchange(exchange: list[Message], *, is_last: bool) -> Iterator[Entry]:
    facts = tool_facts(exchange)
    said = _said(exchange)
    asked = [message.text for message in exchange if message.role is Role.USER and message.text.strip()]
    for text in asked:
        yield from _from_user(text, is_unanswered=is_last and not said)
    if asked and is_last:
        yield Entry(Section.TASK, clip(" ".join(asked[-1].split()), _TASK_CHARS), WORTH[Section.TASK])
    yield from _outcome(said, facts)
    yield from _reasons(said)
    yield from _from_tools(facts)
    if is_last:
        yield from _standing(said, facts)


def _said(exchange: Sequence[Message]) -> list[_Said]:
    last = next((message for message in reversed(exchange) if message.role is not Role.USER), None)
    found = []
    for message in exchange:
        if message.role is Role.ASSISTANT:
            is_closing = message is last and not message.tool_calls
            for sentence in sentences(message.text):
                found.append(_Said(sentence.text, cue_of(sentence), telling(sentence.text), is_closing))
    return found


def _from_user(text: str, *, is_unanswered: bool) -> Iterator[Entry]:
    """What the user forbids, demands and decides, word for word; questions only while nobody has answered."""
    if len(text) > _LONGEST_USER_TEXT_CHARS or text.lstrip().startswith(("<", "{")):
        return
    for sentence in sentences(text):
        quoted = f'"{clip(sentence.text, ENTRY_CHARS)}"'
        if cue_of(sentence) is Cue.QUESTION:
            if is_unanswered:
                yield Entry(Section.ASKS, quoted, WORTH[Section.ASKS])
        elif is_rule(sentence.text):
            yield Entry(Section.CONSTRAINTS, quoted, WORTH[Section.CONSTRAINTS])
        elif decision_weight(sentence.text) >= 2:
            yield Entry(Section.DECISIONS, quoted, WORTH[Section.DECISIONS] + 6)


def _outcome(said: list[_Said], facts: ToolFacts) -> Iterator[Entry]:
    """What came of the exchange: what the agent says it did, else the point of its answer, else what it changed."""
    done = _best([each for each in said if each.cue is Cue.DONE and each.is_closing], _MOST_DONE, least=-1.0)
    done = done or _best([each for each in said if each.cue is Cue.DONE], _MOST_ON_THE_WAY, least=1.0)
    texts = [each.text for each in done] or _point(said)
    commits = [f'Committed "{subject}"' for subject in facts.commits[-_MOST_DONE:]]
    if not texts and not commits and facts.changed:
        texts = [changed_files(_base_name(path) for path in facts.changed[-_MOST_CHANGED_NAMED:])]
    for text in (*texts, *commits, *facts.actions[-_MOST_DONE:]):
        yield Entry(Section.COMPLETED, clip(text, ENTRY_CHARS), WORTH[Section.COMPLETED])


def _base_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _point(said: list[_Said]) -> list[str]:
    """The most telling sentence of the closing text, when that tells of nothing done."""
    closing = [each for each in said if each.is_closing]
    plain = [each for each in closing if each.cue in (Cue.NONE, Cue.FINDING, Cue.DECISION)]
    if plain and plain[0] is closing[0]:
        # Answers tend to say first what they are about to explain.
        plain[0] = replace(plain[0], telling=plain[0].telling + 1.5)
    most = 1 + (sum(len(each.text) for each in plain) > _LONG_ANSWER_CHARS)
    best = [
        each for each in _best(plain, most, least=0.0) if each.telling >= 1.5 or len(each.text) >= _LEAST_POINT_CHARS
    ]
    return [f"{'说明：' if is_chinese(each.text) else 'Explained: '}{each.text}" for each in best]


def _best(said: list[_Said], most: int, *, least: float) -> list[_Said]:
    """The most telling ones, in their order."""
    telling_ones = [(index, each) for index, each in enumerate(said) if each.telling >= least]
    chosen = sorted(telling_ones, key=lambda pair: (-pair[1].telling, pair[0]))[:most]
    return [each for _, each in sorted(chosen, key=lambda pair: pair[0])]


def _reasons(said: list[_Said]) -> Iterator[Entry]:
    """Decisions and findings, from wherever they were said."""
    decided = [each for each in said if each.cue is Cue.DECISION and decision_weight(each.text) + each.telling >= 3]
    for each in _best(decided, _MOST_ON_THE_WAY, least=-1.0):
        worth = WORTH[Section.DECISIONS] + decision_weight(each.text) + each.is_closing
        yield Entry(Section.DECISIONS, clip(each.text, ENTRY_CHARS), worth)
    for each in _best([each for each in said if each.cue is Cue.FINDING], _MOST_ON_THE_WAY, least=0.0):
        yield Entry(Section.ERRORS, clip(each.text, ENTRY_CHARS), WORTH[Section.ERRORS] + each.telling)


def _from_tools(facts: ToolFacts) -> Iterator[Entry]:
    for path in facts.changed:
        yield Entry(Section.FILES, f"changed `{path}`", WORTH[Section.FILES] + 3)
    read = [path for path in facts.read if path not in facts.changed]
    if read:
        listed = ", ".join(f"`{path}`" for path in read[-_MOST_READ:])
        yield Entry(Section.FILES, f"read {listed}", WORTH[Section.FILES] - 4)
    runs: dict[str, list[CommandFact]] = {}
    for command in facts.commands:
        runs.setdefault(command.key, []).append(command)
    for commands in runs.values():
        yield from _from_runs(commands)


def _from_runs(runs: list[CommandFact]) -> Iterator[Entry]:
    """The runs of one command: how the last one ended, and what failed before that."""
    last = runs[-1]
    failed = next((run for run in reversed(runs) if run.ok is False), None)
    if failed is not None:
        told = f"`{failed.text}` failed: {failed.outcome}" if failed.outcome else f"`{failed.text}` failed"
        is_over = last.ok is not False
        text = f"{told} → {PASSES_NOW}" if is_over else told
        yield Entry(Section.ERRORS, text, WORTH[Section.ERRORS] + (0 if is_over else 6))
    if last.ok is not False:
        outcome = f" → {last.outcome}" if last.outcome else ""
        yield Entry(Section.FILES, f"ran `{last.text}`{outcome}", WORTH[Section.FILES] + (2 if last.ok else -2))


def _standing(said: list[_Said], facts: ToolFacts) -> Iterator[Entry]:
    """How things stand at the end: the open task list, what the agent asked, or what it was about to do."""
    for todo in facts.todos or ():
        section = Section.STATE if todo.is_active else Section.REMAINING
        yield Entry(section, todo.text, WORTH[section] + 4)
    if not said:
        return
    last = said[-1]
    is_zh = is_chinese(last.text)
    if last.is_closing and last.cue is Cue.QUESTION:
        told = "向用户提问：" if is_zh else "Asked the user: "
        yield Entry(Section.STATE, f'{told}"{clip(last.text, ENTRY_CHARS)}"', WORTH[Section.STATE])
    elif not last.is_closing:
        is_intention = last.cue is Cue.INTENTION
        told = (
            ("当时正要：" if is_zh else "Was about to: ") if is_intention else ("最后说：" if is_zh else "Last said: ")
        )
        yield Entry(Section.STATE, f'{told}"{clip(last.text, ENTRY_CHARS)}"', WORTH[Section.STATE])
    left = [each for each in said if each.is_closing and each.cue is Cue.REMAINING]
    for each in _best(left, _MOST_REMAINING, least=-1.0):
        yield Entry(Section.REMAINING, clip(each.text, ENTRY_CHARS), WORTH[Section.REMAINING])
