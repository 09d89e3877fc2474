"""Made-up sessions to feed: no two rows are equal, so that one in the wrong place or twice would be seen.

By chance, but the same for the same seed: requests, one or several calls at a time, results of any length, answers, in
several scripts of the world.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

WORDS: Final = (
    *("parser", "cursor", "branch", "index", "commit", "replay", "Größe", "naïve", "会话", "压缩", "поиск", "🙂"),
    *("e\u0301tat", "tab\there", '"quoted"', "back\\slash", "line\u2028separator", "<tag>", '{"json": 1}', "$HOME"),
)
LONGEST_RESULT_WORDS: Final = 260


def write_talks(path: Path, sessions: int, turns: int, seed: int) -> None:
    """A transcript file with so many sessions of so many turns."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(sessions):
            chance = random.Random(f"{seed}/{number}")
            messages = [message for turn in range(turns) for message in messages_of_turn(number, turn, chance)]
            told = {"id": f"talk-{seed}-{number}", "title": f"Talk {number}", "model": "gpt-4o", "messages": messages}
            file.write(json.dumps(told, ensure_ascii=False) + "\n")


def messages_of_turn(session: int, turn: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """One whole turn: a request, rounds of calls and results, an answer."""
    name = f"{session}.{turn}"
    if turn == 0:
        yield {"role": "system", "content": f"You are agent {session}. {some_words(chance, 20)}"}
    yield {"role": "user", "content": f"[{name}] please look at {some_words(chance, chance.randint(3, 60))}"}
    for number in range(chance.randint(0, 2)):
        calls = [f"call_{name}_{number}_{place}" for place in range(chance.randint(1, 3))]
        yield {
            "role": "assistant",
            "content": chance.choice([None, f"I look {name}.{number}"]),
            "tool_calls": [call_of(call, some_words(chance, 4)) for call in calls],
        }
        for call in calls:
            text = some_words(chance, chance.randint(0, LONGEST_RESULT_WORDS))
            yield {"role": "tool", "tool_call_id": call, "content": f"{call}: {text}"}
    yield {"role": "assistant", "content": f"Answer {name}: {some_words(chance, chance.randint(5, 80))}"}


def call_of(call_id: str, words: str) -> dict[str, Any]:
    arguments = json.dumps({"path": words}, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": "read_file", "arguments": arguments}}


def some_words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(count)) + f" #{chance.getrandbits(40):x}"
