"""Talking to the main model: what it is asked, and what it answers, piece by piece and as a whole.

Values alone. How they look on the wire is the dialects' (`endpoints.openai_talk`, `endpoints.anthropic_talk`), and who
sends them is `http_main_model`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from compaction.messages import Message
from compaction.summarizer import Usage


@dataclass(frozen=True, slots=True)
class TalkQuestion:
    """The context of a session as the main model gets it.

    messages: provider-legal, system prompt first. tools: JSON texts, each a tool in the shape of the chat completions
    dialect. max_output_tokens: None sends no limit where the dialect allows that.
    """

    messages: tuple[Message, ...]
    tools: tuple[str, ...] = ()
    max_output_tokens: int | None = None
    temperature: float | None = None


class PieceKind(StrEnum):
    """What a piece of an answer belongs to."""

    TEXT = "text"
    REASONING = "reasoning"
    REFUSAL = "refusal"
    CALL = "call"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer as it came. For a call `text` continues its arguments; index tells calls apart, and name and
    call_id stand in the piece that begins it."""

    kind: PieceKind
    text: str
    index: int = 0
    name: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class TalkAnswer:
    """What came of one call to the main model.

    message: the answer, or as much of it as had come; None when there was nothing. is_complete: it came to its end.
    error: named reason of a call that failed, else empty; error_detail: a sentence for people. status: of a refusal;
    error_body: what it said, without the key.
    first_token_ms: None when the answer came whole. duration_ms: all time waited.
    """

    message: Message | None = None
    is_complete: bool = False
    finish_reason: str | None = None
    refusal: str | None = None
    usage: Usage = Usage()
    model: str | None = None
    error: str = ""
    error_detail: str = ""
    error_body: str = ""
    status: int | None = None
    retry_after_seconds: float | None = None
    first_token_ms: int | None = None
    duration_ms: int | None = None

    @property
    def ends_turn(self) -> bool:
        """Whether the turn is over with it: a whole answer that calls no tool."""
        return self.is_complete and self.message is not None and not self.message.tool_calls
