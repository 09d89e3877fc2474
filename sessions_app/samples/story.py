"""A story: what was said and done in a session, before tools have answered. Values only.

A phase has a length in tokens and in seconds; its turns share both. What a tool returned is a list of segments: text
that the story's writer fixed, and fillers, which a generator makes as long as there is room.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a tool's answer: fixed `text`, or when `filler` is set, lines a generator makes from `text`."""

    text: str
    filler: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the story puts it: the verb, its words, and what the story says of the answer.

    before, after: the two sides of a patch. exit_code: of a command. took_seconds: None means as usual.
    """

    verb: str
    words: str
    segments: tuple[Segment, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    exit_code: int = 0
    took_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One assistant message: prose, perhaps reasoning, and the calls it makes side by side."""

    prose: str
    reasoning: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """A request and the steps that answer it.

    weight: its share of the phase's tokens. pause_seconds: a break before it, beyond the time taken to read and type.
    """

    request: str
    steps: tuple[Step, ...]
    weight: float = 1.0
    pause_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a story with its own budget of tokens (row costs) and its own length."""

    name: str
    tokens: int
    seconds: int
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A whole session. `started_at`: epoch seconds. `hidden`: files of the checkout that were not there yet."""

    session_id: str
    title: str
    model: str
    started_at: int
    cwd: str
    system_prompt: str
    phases: tuple[Phase, ...]
    hidden: tuple[str, ...] = ()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All turns in order."""
        return tuple(turn for phase in self.phases for turn in phase.turns)
