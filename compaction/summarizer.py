"""The summarizer: the only voice in a pass that is not ours.

A `SummaryRequest` carries the prompt a model would get and, for summarizers without a model, the same facts as
values. Everything in it is already redacted. `ask` returns a `Reply` for whatever came back, usable or not, and
for calls that failed (`error` names the reason): a failure is a value, so no caller can forget it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from compaction.messages import Message


class Purpose(StrEnum):
    """What a summary is asked for."""

    ABSORB = "absorb"
    DEFRAG = "defrag"
    BATCH = "batch"


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """One question to a summarizer.

    system, user: the prompt as a model gets it. max_output_tokens: None sends no limit.
    earlier: the summary to be merged into, without frame; empty when there is none.
    messages: the redacted messages to be summarised, in order; empty for a defrag.
    budget_tokens: the size the summary should stay under. focus: what a person asked to keep, may be empty.
    redactions: how many secrets were masked on the way into `user`. notes: what else was done to the messages for it.
    """

    purpose: Purpose
    system: str
    user: str
    earlier: str
    messages: tuple[Message, ...]
    budget_tokens: int
    max_output_tokens: int | None = None
    temperature: float = 0.1
    focus: str = ""
    redactions: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint reported them; None is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `error` is the named reason of a call that failed (`timeout`, `http_500`, ...), else empty.

    first_token_ms: time waited for the first token, None when the answer came whole. duration_ms: all time waited.
    """

    text: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    has_tool_calls: bool = False
    error: str = ""
    error_detail: str = ""
    model: str | None = None
    usage: Usage = Usage()
    duration_ms: int | None = None
    first_token_ms: int | None = None


class Summarizer(Protocol):
    """Anything that can answer a `SummaryRequest`."""

    @property
    def model(self) -> str:
        """The model's name, or what stands in for one."""

    @property
    def window_tokens(self) -> int | None:
        """The window of the model; None when it has no limit that is known."""

    def ask(self, request: SummaryRequest) -> Reply:
        """Answer `request`. Failures of the other side are returned as a reply with `error`, never raised."""
