"""The replies of a summarizer that often fails, for the sample that shows failures.

Its script (`stories/*.replies`) is a list of blocks. `@absorb` adds notes to the running notes of the blocks before,
heading by heading, and answers with all of them; `@rewrite` answers with its own text and starts the notes anew from
it; `@echo` repeats the notes as they are; `@error REASON` fails. An optional number is the time it takes, in seconds.
The result is the JSON that `replay --summarizer scripted:FILE` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

HEADING = "## "


class RepliesError(ValueError):
    """A script of replies does not follow its own form."""


def read_replies(script: str) -> Iterator[dict[str, Any]]:
    """The script's replies in turn. Raises RepliesError."""
    notes: dict[str, list[str]] = {}
    for block in script.split("\n@")[1:]:
        first, *lines = block.split("\n")
        verb, *words = first.split()
        duration = {"duration_ms": round(float(words.pop()) * 1_000)}
        if verb == "error":
            yield {"error": words[0], **duration}
            continue
        if verb == "rewrite":
            notes = {}
        elif verb not in ("absorb", "echo"):
            raise RepliesError(f"@{verb}: known are absorb, rewrite, echo, error")
        add_notes(notes, lines)
        yield {"text": notes_text(notes), **duration}


def add_notes(notes: dict[str, list[str]], lines: Sequence[str]) -> None:
    """Put each line under the heading it follows, behind what stands there."""
    heading = ""
    for line in lines:
        if line.startswith(HEADING):
            heading = line
            # What the user wanted last replaces what they wanted before.
            if heading not in notes or "Task Snapshot" in heading:
                notes[heading] = []
        elif line.strip():
            notes[heading].append(line)


def notes_text(notes: dict[str, list[str]]) -> str:
    return "\n\n".join("\n".join([heading, *lines]) for heading, lines in notes.items())
