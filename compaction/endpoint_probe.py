"""Testing an endpoint before it is trusted with a session: one real question, made as passes make theirs.

The question is a short made-up exchange with exact facts in it, so the answer shows more than that somebody answers:
how long the first token takes, how fast the rest comes, whether the summary is one that a pass would accept, which of
the facts it kept, and whether the model thinks aloud, which costs time and tokens at every pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compaction.errors import InvalidInput
from compaction.http_summarizer import HttpSummarizer
from compaction.messages import Message, Role, ToolCall
from compaction.prompts import SummaryLimits, absorb_request
from compaction.replies import Unusable, judge_reply
from compaction.summarizer import Reply, Summarizer, SummaryRequest, Usage
from compaction.tokens import TokenCounter
from compaction.wording import worded

# The sizes of a rolling summary by default: what a pass aims at, and where an answer is cut off.
_LIMITS: Final = SummaryLimits(1_500, 2_500)
# A pass that takes longer is felt: the next request of the session waits for it.
SLOW_SECONDS: Final = 30.0
# Answers that come in one piece within this time say nothing about speed.
_LEAST_STREAM_MS: Final = 20

PROBE_FACTS: Final = ("src/billing/invoice.py", "INV-20417", "12.5", "migrations/0007_totals.py")
_PROBE_EXCHANGE: Final = (
    Message(
        Role.ASSISTANT,
        "I'll look at how totals are rounded.",
        (ToolCall("call_1", "read_file", '{"path": "src/billing/invoice.py"}'),),
    ),
    Message(
        Role.TOOL,
        "def total(lines):\n    return round(sum(line.net for line in lines) * 1.125, 1)\n"
        "# INV-20417 was sent with 12.4 instead of 12.5\n",
        tool_call_id="call_1",
    ),
    Message(
        Role.ASSISTANT,
        "The fault is in src/billing/invoice.py: it rounds to one digit before the tax is split, so INV-20417 showed "
        "12.4 where 12.5 is right. Decision: round once, at the end, to two digits. You asked to never edit "
        "migrations/0007_totals.py, so the stored totals stay as they are. Still open: whether old invoices are sent "
        "again.",
    ),
)


class ProbeWarning(StrEnum):
    """What somebody should know before choosing this endpoint."""

    REASONS = "reasons"
    SLOW = "slow"
    USAGE_UNKNOWN = "usage_unknown"
    OTHER_MODEL = "other_model"
    FACTS_LOST = "facts_lost"


@dataclass(frozen=True, slots=True)
class EndpointProbe:
    """What one question showed.

    reason, detail: why the answer could not be used, empty when it could. first_token_ms: None when the answer came
    whole. tokens_per_second: of output, thinking included; is_speed_estimated when the endpoint reports no tokens.
    pass_seconds: how long a pass with a full rolling summary would take at this speed. sample: the summary, cleaned.
    facts_kept: exact facts of the question found in the answer, of `facts_asked`; None for a question of one's own.
    """

    model: str
    served_model: str | None
    is_usable: bool
    reason: str
    detail: str
    duration_ms: int | None
    first_token_ms: int | None
    tokens_per_second: float | None
    is_speed_estimated: bool
    pass_seconds: float | None
    usage: Usage
    sample: str
    facts_kept: int | None
    facts_asked: int | None
    warnings: tuple[ProbeWarning, ...]


def probe_request(counter: TokenCounter, window_tokens: int | None = None) -> SummaryRequest:
    """The question of a probe. Raises InvalidInput when the summarizer's window can't even hold this."""
    request = absorb_request("", _PROBE_EXCHANGE, _LIMITS, counter, window_tokens)
    if request is None:
        raise InvalidInput(worded("a window of {:,} tokens is too small to write summaries", window_tokens), "endpoint")
    return request


def probe_endpoint(
    summarizer: Summarizer, counter: TokenCounter, request: SummaryRequest | None = None
) -> EndpointProbe:
    """Ask `summarizer` once and tell what happened; a failure is part of the answer.

    request: a recorded question instead of the made-up one, to compare endpoints on the same. An HTTP summarizer is
    asked for a stream, so the first token can be timed. Raises InvalidInput when its window is too small for anything.
    """
    asked = request or probe_request(counter, summarizer.window_tokens)
    teller = summarizer.streamed() if isinstance(summarizer, HttpSummarizer) else summarizer
    reply = teller.ask(asked)
    judged = judge_reply(reply, asked)
    is_unusable = isinstance(judged, Unusable)
    sample = "" if isinstance(judged, Unusable) else judged.text
    output_tokens = _output_tokens(reply, counter)
    speed = _tokens_per_second(reply, output_tokens)
    pass_seconds = _pass_seconds(reply, speed, asked)
    facts_kept = None if request or is_unusable else sum(fact in sample for fact in PROBE_FACTS)
    return EndpointProbe(
        model=summarizer.model,
        served_model=reply.model,
        is_usable=not is_unusable,
        reason=judged.reason if isinstance(judged, Unusable) else "",
        detail=judged.detail if isinstance(judged, Unusable) else "",
        duration_ms=reply.duration_ms,
        first_token_ms=reply.first_token_ms,
        tokens_per_second=speed,
        is_speed_estimated=speed is not None and reply.usage.output_tokens is None,
        pass_seconds=pass_seconds,
        usage=reply.usage,
        sample=sample,
        facts_kept=facts_kept,
        facts_asked=None if facts_kept is None else len(PROBE_FACTS),
        warnings=tuple(_warnings(summarizer.model, reply, pass_seconds, facts_kept)),
    )


def compare_endpoints(
    summarizers: Iterable[Summarizer], counter: TokenCounter, request: SummaryRequest
) -> tuple[EndpointProbe, ...]:
    """The same question put to each of `summarizers`, one after the other, so none slows another down."""
    return tuple(probe_endpoint(summarizer, counter, request) for summarizer in summarizers)


def is_reasoning(reply: Reply) -> bool:
    """Whether the model thought before it answered, wherever its thoughts stand."""
    has_thoughts = bool((reply.reasoning or "").strip()) or bool(reply.usage.reasoning_tokens)
    return has_thoughts or (reply.text or "").lstrip().lower().startswith(("<think", "<reasoning", "<thought"))


def _output_tokens(reply: Reply, counter: TokenCounter) -> int | None:
    """Output as reported, else counted; None when nothing came."""
    if reply.usage.output_tokens is not None:
        return reply.usage.output_tokens or None
    return counter.count(f"{reply.reasoning or ''}{reply.text or ''}") or None


def _tokens_per_second(reply: Reply, output_tokens: int | None) -> float | None:
    """Speed between the first token and the last; over the whole time when the answer came in one piece."""
    if output_tokens is None or not reply.duration_ms or reply.error:
        return None
    stream_ms = 0 if reply.first_token_ms is None else reply.duration_ms - reply.first_token_ms
    if stream_ms < _LEAST_STREAM_MS:
        return round(output_tokens / reply.duration_ms * 1_000, 1)
    return round(max(1, output_tokens - 1) / stream_ms * 1_000, 1)


def _pass_seconds(reply: Reply, speed: float | None, asked: SummaryRequest) -> float | None:
    """Time to the first token and for a summary of the size passes aim at."""
    if not speed:
        return None
    return round((reply.first_token_ms or 0) / 1_000 + asked.budget_tokens / speed, 1)


def _warnings(model: str, reply: Reply, pass_seconds: float | None, facts_kept: int | None) -> Iterable[ProbeWarning]:
    if reply.error:
        return
    if is_reasoning(reply):
        yield ProbeWarning.REASONS
    if pass_seconds is not None and pass_seconds > SLOW_SECONDS:
        yield ProbeWarning.SLOW
    if reply.usage.input_tokens is None or reply.usage.output_tokens is None:
        yield ProbeWarning.USAGE_UNKNOWN
    if reply.model and not _same_model(model, reply.model):
        yield ProbeWarning.OTHER_MODEL
    if facts_kept is not None and facts_kept < len(PROBE_FACTS):
        yield ProbeWarning.FACTS_LOST


def _same_model(asked: str, served: str) -> bool:
    """Whether the served model is the one that was asked for; providers add dates, folders and file endings."""
    short_asked, short_served = (name.lower().rpartition("/")[2].partition(":")[0] for name in (asked, served))
    return short_served.startswith(short_asked) or short_asked.startswith(short_served)
