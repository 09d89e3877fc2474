"""What a summarizer is asked in a batch compaction.

First time: write the notes of this stretch. Later: update earlier notes with the rows they don't cover yet. The
structure is given, with empty sections, so that a model fills it in instead of inventing one (ENGINE 8.3, 8.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from compaction.messages import Message
from compaction.prompt_input import prompt_input
from compaction.prompts import ROLE, RULES, fitting_text
from compaction.prune import shorten_results
from compaction.redaction import MASK, redact
from compaction.sections import STALE_MARK, STALE_SECTIONS, Section
from compaction.serialise import bound
from compaction.summarizer import Purpose, SummaryRequest
from compaction.tokens import TokenCounter

# Earlier notes may take this much of the prompt; beyond it their middle is cut like that of any long text.
EARLIER_LIMIT_CHARS: Final = 160_000

_MEANINGS: Final = {
    Section.TASK: "the newest request of the user that was not finished, as it was put",
    Section.STATE: "what was being worked on at this moment, and how far it had come",
    Section.ASKS: "what the user asked and nobody answered",
    Section.REMAINING: "what was planned and not done",
    Section.COMPLETED: "numbered list: what was done, with files, commands and results",
    Section.DECISIONS: "what was decided, and why",
    Section.CONSTRAINTS: "what the user forbade or laid down as a rule, word for word",
    Section.FILES: "files that matter with what is in them; commands that work here",
    Section.ERRORS: "errors that came up, their cause and their fix",
}


def batch_request(
    earlier: str,
    messages: Sequence[Message],
    budget_tokens: int,
    counter: TokenCounter,
    aux_window_tokens: int | None,
    focus: str = "",
) -> SummaryRequest | None:
    """The request that summarises `messages`, on top of `earlier` notes if there are any.

    The text shows long tool results as one line each; `messages` of the request hold them at length, for anchors and
    for summarizers that read facts instead of text. Results are shortened once they are redacted, because a secret
    that is cut in two is not found any more.

    None when the summarizer's window is too small to hold the question. Sends no output limit: the budget is asked
    for, and an answer that is too long to help is discarded when the pass is settled.
    """
    notes = bound(redact(earlier).text, EARLIER_LIMIT_CHARS)
    wanted = redact(focus).text.strip()
    read = prompt_input(messages)
    frame = _text(notes, "", budget_tokens, wanted)
    shown = shorten_results(read.messages, counter)
    transcript = fitting_text(frame, read, shown.messages, budget_tokens, counter, aux_window_tokens)
    if transcript is None:
        return None
    return SummaryRequest(
        Purpose.BATCH,
        ROLE,
        _text(notes, transcript, budget_tokens, wanted),
        notes,
        read.messages,
        budget_tokens,
        focus=wanted,
        redactions=sum(text.count(MASK) for text in (notes, transcript, wanted)),
        notes=(*shown.notes, *read.notes),
    )


def _text(notes: str, transcript: str, budget_tokens: int, focus: str) -> str:
    blocks = [_task(bool(notes)), f"{RULES}\n- Stay under {budget_tokens:,} tokens.", _structure()]
    if notes:
        blocks.append(f"<earlier_notes>\n{notes}\n</earlier_notes>")
    blocks.append(f"<transcript_part>\n{transcript}\n</transcript_part>")
    if focus:
        blocks.append(f"The user wants these notes to keep above all: {focus}")
    blocks.append("Return the complete notes.")
    return "\n\n".join(blocks)


def _task(is_update: bool) -> str:
    if not is_update:
        return "Write notes of this part of a conversation, so that the agent can go on without having seen it."
    return (
        "Update the earlier notes with the part of the transcript they don't cover yet. Keep what still holds, go on "
        "numbering the completed actions, move what was finished there, and drop what has been overtaken."
    )


def _structure() -> str:
    lines = [f"## {_heading(section)}\n({meaning})" for section, meaning in _MEANINGS.items()]
    return "Use exactly these headings, in this order; write (none) where there is nothing:\n\n" + "\n".join(lines)


def _heading(section: Section) -> str:
    return f"{section} {STALE_MARK}" if section in STALE_SECTIONS else section.value
