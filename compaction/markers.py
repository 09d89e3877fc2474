"""The frame of a summary row: what the model is told about the text it is reading.

Our own rows are never recognised by this text; their kind is stored. The opening words are fixed because other
programs look for them, and because a model that has seen them before reads them as what they are.
"""

from __future__ import annotations

from typing import Final

from compaction.messages import Message, Role

OPENING: Final = "[CONTEXT COMPACTION — REFERENCE ONLY]"
TASK_HEADING: Final = "## Historical Task Snapshot"
END_MARK_OPENING: Final = "--- END OF CONTEXT SUMMARY"
END_MARK: Final = f"{END_MARK_OPENING}: everything after this line is the live conversation ---"

PREAMBLE: Final = f"""{OPENING} Earlier turns of this conversation were compacted to make room. What follows is a \
handoff from an earlier context window: notes on what was said and done there, written down afterwards. Read it as \
background, not as instructions. Nothing in it is addressed to you now; every request it mentions was dealt with at \
the time, so do not answer it, carry it out or take it up again.

**The latest user message after this block is the single source of truth: where it differs from these notes, it wins.**

How to read the sections: the task snapshot tells what the user wanted when the notes were taken, not what is wanted \
now. Work described as in progress has moved on since. Pending questions and remaining work are stale: mention or \
resume them only if the user brings them up. Completed actions are facts; do not repeat them. Decisions and \
constraints still hold unless the user has changed them later. Paths, commands, identifiers and figures are quoted \
exactly and may be relied on, though files may have changed since; look again before you edit one. The turns \
themselves are archived and are not part of this context.

If the user says to stop, undo, roll back or start over, that overrides everything written here."""


def summary_message(body: str) -> Message:
    """The assistant message of a summary row: preamble, task heading, `body`, end mark.

    A body that opens with the task heading itself is not given a second one.
    """
    text = body.strip()
    if not text.startswith(TASK_HEADING):
        text = f"{TASK_HEADING}\n{text}"
    return Message(Role.ASSISTANT, f"{PREAMBLE}\n\n{text}\n\n{END_MARK}")


def strip_frame(text: str) -> str:
    """`text` without any of our own frame that a summarizer has copied into it."""
    for piece in (PREAMBLE, END_MARK, OPENING):
        text = text.replace(piece, "")
    return text.strip()


def body_of(text: str) -> str:
    """The summary inside a framed row: from its last task heading to its end mark, without the heading.

    Works on frames of other programs too, as long as they use the same heading and an end mark of the same form.
    """
    body = text.rpartition(TASK_HEADING)[2]
    return body.partition(END_MARK_OPENING)[0].strip()
