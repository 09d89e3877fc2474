"""Reading a story from its text form, which is made for people who write and proofread it.

    title: What the session is called        header: `key: value` lines; `system:` is followed by `| ` lines
    == review tokens=75000 hours=3.5         a phase
    >> 1.2 pause=15                          a turn: its weight in the phase, and a break before it in minutes
    The request, any number of lines.
    --                                       an assistant message; the last one of a turn makes no calls
    ? Reasoning, if any.
    Prose.
    ! read compaction/zones.py take           a call; several in one message run side by side
    ! sh exit=1 took=64 make run             the exit code of a command, and how many seconds it took
    | a fixed line of the answer
    ~ web 14:02                              a filler: a generator writes as many lines as there is room for
    - old line                               below `! patch`: what goes and
    + new line                               what comes

The reader refuses what it doesn't understand, with the line's number: a story is source code of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby

from sessions_app.samples.story import Call, Phase, Segment, Step, Story, Turn

NumberedLine = tuple[int, str]


class StoryError(ValueError):
    """A story does not follow its own form."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")


def read_story(text: str) -> Story:
    """The story in `text`. Raises StoryError."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if not line.startswith("#!")]
    header, *phases = list(blocks(lines, "== "))
    facts = read_header(header)
    return Story(
        session_id=facts["id"],
        title=facts["title"],
        model=facts["model"],
        started_at=int(datetime.fromisoformat(facts["start"]).astimezone(UTC).timestamp()),
        cwd=facts["cwd"],
        system_prompt=facts["system"],
        phases=tuple(read_phase(block) for block in phases),
        hidden=tuple(facts.get("hidden", "").split()),
    )


def blocks(lines: Sequence[NumberedLine], mark: str) -> Iterator[list[NumberedLine]]:
    """Split before each line that starts with `mark`; the first block is what stands before any of them."""
    block: list[NumberedLine] = []
    for line in lines:
        if line[1].startswith(mark) or (mark == "--" and line[1].rstrip() == "--"):
            yield block
            block = []
        block.append(line)
    yield block


def read_header(lines: Sequence[NumberedLine]) -> dict[str, str]:
    facts = {"system": prose(line[2:] for _, line in lines if line.startswith("|"))}
    for number, line in lines:
        if not line.strip() or line.startswith("|") or line == "system:":
            continue
        key, colon, value = line.partition(": ")
        if not colon:
            raise StoryError(number, f"expected `key: value`, found {line!r}")
        facts[key] = value.strip()
    missing = {"id", "title", "model", "start", "cwd", "system"} - {key for key, value in facts.items() if value}
    if missing:
        raise StoryError(1, f"the header lacks {', '.join(sorted(missing))}")
    return facts


def read_phase(lines: Sequence[NumberedLine]) -> Phase:
    number, first = lines[0]
    _, name, *words = first.split()
    options = read_options(number, words)
    try:
        tokens, seconds = int(options["tokens"]), round(float(options["hours"]) * 3600)
    except (KeyError, ValueError) as error:
        raise StoryError(number, "a phase needs tokens=N and hours=N") from error
    idle, *turns = list(blocks(lines, ">>"))
    if not turns:
        raise StoryError(idle[0][0], "a phase without turns")
    return Phase(name, tokens, seconds, tuple(read_turn(block) for block in turns))


def read_options(number: int, words: Sequence[str]) -> dict[str, str]:
    pairs = [word.partition("=") for word in words]
    if not all(sign for _, sign, _ in pairs):
        raise StoryError(number, f"expected `key=value`, found {' '.join(words)!r}")
    return {key: value for key, _, value in pairs}


def read_turn(lines: Sequence[NumberedLine]) -> Turn:
    request, *steps = list(blocks(lines, "--"))
    number, first = request[0]
    words = first.split()[1:]
    weight = float(words.pop(0)) if words and "=" not in words[0] else 1.0
    pause = int(read_options(number, words).get("pause", "0")) * 60
    turn = Turn(prose(line for _, line in request[1:]), tuple(read_step(step) for step in steps), weight, pause)
    if not turn.request or not turn.steps or turn.steps[-1].calls or not all(step.calls for step in turn.steps[:-1]):
        raise StoryError(number, "a turn is a request, messages with calls, and one last message without")
    return turn


def read_step(lines: Sequence[NumberedLine]) -> Step:
    said, *calls = list(blocks(lines[1:], "! "))
    reasoning = prose(line[2:] for _, line in said if line.startswith("? "))
    text = prose(line for _, line in said if not line.startswith("? "))
    step = Step(text, reasoning, tuple(read_call(block) for block in calls))
    if not step.calls and not step.prose:
        raise StoryError(lines[0][0], "a message without prose and without calls")
    return step


def read_call(lines: Sequence[NumberedLine]) -> Call:
    verb, _, words = lines[0][1][2:].strip().partition(" ")
    options, words = split_options(words)
    kept = [(number, line) for number, line in lines[1:] if line.strip()]
    for number, line in kept:
        if line[:2] not in ("| ", "~ ", "- ", "+ ") and line not in ("|", "-", "+"):
            raise StoryError(number, f"neither answer nor patch: {line!r}")
    call = Call(verb, words.strip(), segments=tuple(read_segments(kept)))
    before, after = (tuple(line[2:] for _, line in kept if line[0] == mark) for mark in "-+")
    took = float(options["took"]) if "took" in options else None
    return replace(call, before=before, after=after, exit_code=int(options.get("exit", 0)), took_seconds=took)


def split_options(words: str) -> tuple[dict[str, str], str]:
    """What a call says of its command before naming it: `exit=` and `took=`."""
    options: dict[str, str] = {}
    while words.startswith(("exit=", "took=")):
        first, _, words = words.partition(" ")
        key, _, options[key] = first.partition("=")
    return options, words


def read_segments(lines: Sequence[NumberedLine]) -> Iterator[Segment]:
    """Neighbouring fixed lines are one segment, each filler line is its own."""
    answers = [line for _, line in lines if line[0] in "|~"]
    for fixed, group in groupby(answers, key=lambda line: line[0] == "|"):
        if fixed:
            yield Segment("\n".join(line[2:] for line in group))
            continue
        for line in group:
            kind, _, words = line[2:].strip().partition(" ")
            yield Segment(words, kind)


def prose(lines: Iterator[str]) -> str:
    return "\n".join(lines).strip("\n").rstrip()
