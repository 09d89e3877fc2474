"""The text of a summary as pages show it: without the frame that tells a model how to read it."""

from __future__ import annotations

from compaction.markers import TASK_HEADING, body_of

# How frames open, ours and those of other programs.
FRAME_STARTS = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY")


def unframed(text: str) -> str:
    """What stands inside the frame; a text without one, or with one of an unknown form, is left as it is."""
    if not text.lstrip().startswith(FRAME_STARTS):
        return text
    body = body_of(text)
    return f"{TASK_HEADING}\n{body}" if body and TASK_HEADING in text else text
