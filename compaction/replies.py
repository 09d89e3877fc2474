"""Which answers of a summarizer can be used, and why the others can't.

An unusable answer has a named reason and changes nothing (ENGINE 7.1). A usable one is cleaned of thinking, of leaked
tool calls and of our own frame, and is redacted: what a model says is stored only through here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from compaction.markers import strip_frame
from compaction.redaction import redact
from compaction.summarizer import Reply, SummaryRequest
from compaction.wording import worded


class UnusableReason(StrEnum):
    """Why an answer can't be used. Failures of the call itself carry the reason the summarizer gave."""

    EMPTY = "empty"
    THINKING_ONLY = "thinking_only"
    LENGTH = "length"
    REFUSAL = "refusal"
    ERROR_TEXT = "error_text"
    BARE_TEMPLATE = "bare_template"
    TOOL_CALL_MARKUP = "tool_call_markup"
    ECHO_OF_PROMPT = "echo_of_prompt"
    AUX_WINDOW_TOO_SMALL = "aux_window_too_small"


@dataclass(frozen=True, slots=True)
class Usable:
    """An answer that can be stored: cleaned and redacted."""

    text: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer that changes nothing. `reason` is an `UnusableReason` or the named reason of a failed call."""

    reason: str
    detail: str = ""


_THINKING: Final = re.compile(r"<(think|thinking|reasoning|thought)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
# Chat templates that open the thinking themselves leave only its end in the text.
_THINKING_END: Final = re.compile(r"\A.*</(?:think|thinking|reasoning|thought)>", re.DOTALL | re.IGNORECASE)
_CHANNEL: Final = re.compile(r"\A<\|channel\|>analysis.*?<\|channel\|>final<\|message\|>", re.DOTALL)
_TEMPLATE_TOKEN: Final = re.compile(
    r"<\|(?:im_start|im_end|start|end|return|eot_id|endoftext|message)\|>(?:assistant\b)?"
)
_TOOL_MARKUP: Final = re.compile(
    r"<((?:antml:)?(?:tool_calls?|function_calls?|invoke|tool_use))\b.*?(</\1>|\Z)|<function=.*?(</function>|\Z)|"
    r"\[TOOL_CALLS\].*\Z|<\|tool_calls?[\w|]*>.*\Z|<｜tool▁calls▁begin｜>.*\Z",
    re.DOTALL | re.IGNORECASE,
)
_TOOL_JSON: Final = re.compile(
    r'\A\s*\[?\s*\{\s*"(?:name|tool|function)"\s*:\s*(?:"|\{).*"(?:arguments|parameters|input)"\s*:.*\}\s*\]?\s*\Z',
    re.DOTALL,
)
# What a model says before it comes to the notes.
_LEAD_IN: Final = re.compile(
    r"\A(?:(?:sure|certainly|of course|okay|ok|understood|got it)\b[^\n]{0,80}\n+|"
    r"(?:here (?:are|is)|below (?:are|is)|the following (?:are|is)|以下(?:是|为)|下面是)[^\n]{0,120}[:：]\s*\n+)+",
    re.IGNORECASE,
)
_CUT_OFF: Final = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})
_FILTERED: Final = frozenset(
    {
        "content_filter",
        "refusal",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "guardrail_intervened",
    }
)
_FENCE: Final = re.compile(r"\A```[a-z]*\n(.*)\n```\Z", re.DOTALL)
_REFUSAL: Final = re.compile(
    r"\A\W*(i['’]?m sorry|sorry|i apologi[sz]e|i can(?:no|['’])t|i am (?:unable|not able)|i['’]m (?:unable|not able)|"
    r"unfortunately,? i|i (?:must|have to) decline|i['’]m afraid i|as an? (?:ai|large|language) |"
    r"(?:非常|很)?抱歉|对不起|我无法|我不能|无法(?:为您|帮您|协助|总结)|作为(?:一个|一款)?(?:人工智能|AI|语言模型))",
    re.IGNORECASE,
)
_ERROR_TEXT: Final = re.compile(
    r"\A\W*(error\b|exception\b|traceback \(|\{\s*\"(error|detail)\"|<!doctype html|<html|http/\d|"
    r"\{\s*\"type\"\s*:\s*\"error\"|"
    r"(internal server error|bad gateway|service unavailable|gateway time-?out|rate limit|too many requests))",
    re.IGNORECASE,
)
# Sentences that notes may hold as well: an error only when they are all there is.
_ERROR_SENTENCE: Final = re.compile(
    r"\A\W*(\w+ error:|(?:failed|unable) to (?:generate|create|produce|connect|complete)|quota exceeded|"
    r"insufficient quota|overloaded|(?:the )?(?:request|connection|operation|model|server|api)\b.{0,30}\b"
    r"(?:timed out|failed|refused|overloaded|unavailable)|(?:请求|连接|服务|生成)?(?:错误|超时|失败)[:：，。])",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(r"\A#{1,6}\s")
_VOID_LINE: Final = re.compile(
    r"\A[-*\s]*(none( yet| so far)?|n/?a|nothing( yet)?|unknown|tbd|empty|\.\.\.|…|<[^>]*>|\[[^\]]*\]|\([^)]*\)|"
    r"无|暂无|没有)?[.\s]*\Z",
    re.IGNORECASE,
)
# How a question's parts begin: an answer that begins so is the question, or a piece of it.
_RECORD: Final = re.compile(
    r"\A<(?:transcript_part|running_notes|earlier_notes)>|\A\[(?:USER|ASSISTANT|TOOL RESULT\b[^\]]*)\]: "
)
_FENCES: Final = ("<transcript_part>", "</transcript_part>", "<running_notes>", "<earlier_notes>")
# A refusal or an error is short; notes that merely mention one are not.
_SHORT_CHARS: Final = 600
_SENTENCE_CHARS: Final = 120
_ECHO_PROBE_CHARS: Final = 200
_SHOWN_CHARS: Final = 200


def judge_reply(reply: Reply, request: SummaryRequest) -> Usable | Unusable:
    """Whether `reply` answers `request`, and the text to store if it does."""
    failed = _failed_call(reply)
    if failed is not None:
        return failed
    raw = (reply.text or "").strip()
    if not raw:
        return _without_text(reply)
    text = _without_thinking(raw)
    if not text:
        return Unusable(UnusableReason.THINKING_ONLY, worded("the answer holds nothing but thinking"))
    text = _TOOL_MARKUP.sub("", text).strip()
    if not text or _TOOL_JSON.match(_FENCE.sub(r"\1", text)):
        return Unusable(UnusableReason.TOOL_CALL_MARKUP, worded("the answer is a tool call"))
    text = strip_frame(_FENCE.sub(r"\1", _LEAD_IN.sub("", text)))
    reason = _useless(text, request)
    return Usable(redact(text).text) if reason is None else Unusable(reason, _shown(text))


def redact_reply(reply: Reply) -> Reply:
    """A copy of `reply` that can be stored with its pass: every text in it redacted."""
    return replace(
        reply,
        text=None if reply.text is None else redact(reply.text).text,
        refusal=None if reply.refusal is None else redact(reply.refusal).text,
        reasoning=None if reply.reasoning is None else redact(reply.reasoning).text,
        error_detail=redact(reply.error_detail).text,
    )


def _without_thinking(raw: str) -> str:
    text = _THINKING.sub("", _CHANNEL.sub("", raw))
    return _TEMPLATE_TOKEN.sub("", _THINKING_END.sub("", text)).strip()


def _failed_call(reply: Reply) -> Unusable | None:
    if reply.error:
        return Unusable(reply.error, redact(reply.error_detail).text)
    if reply.refusal:
        return Unusable(UnusableReason.REFUSAL, _shown(reply.refusal))
    finish = (reply.finish_reason or "").lower()
    if finish in _CUT_OFF:
        return Unusable(UnusableReason.LENGTH, worded("the answer was cut off at its limit"))
    if finish in _FILTERED:
        return Unusable(UnusableReason.REFUSAL, worded("finish reason {}", reply.finish_reason))
    return None


def _without_text(reply: Reply) -> Unusable:
    if reply.has_tool_calls:
        return Unusable(UnusableReason.TOOL_CALL_MARKUP, worded("the answer is a tool call without text"))
    if (reply.reasoning or "").strip():
        return Unusable(UnusableReason.THINKING_ONLY, worded("the answer came as reasoning, its content is empty"))
    return Unusable(UnusableReason.EMPTY, worded("the answer is empty"))


def _useless(text: str, request: SummaryRequest) -> UnusableReason | None:
    if not text or _is_bare(text):
        return UnusableReason.BARE_TEMPLATE
    is_short = len(text) <= _SHORT_CHARS and not any(_HEADING.match(line) for line in text.splitlines())
    if is_short and _REFUSAL.match(text):
        return UnusableReason.REFUSAL
    if _ERROR_TEXT.match(text) and (is_short or text.lstrip().startswith("<")):
        return UnusableReason.ERROR_TEXT
    if len(text) <= _SENTENCE_CHARS and _ERROR_SENTENCE.match(text):
        return UnusableReason.ERROR_TEXT
    if _is_echo(text, request):
        return UnusableReason.ECHO_OF_PROMPT
    return None


def _is_bare(text: str) -> bool:
    """Whether there is no line but headings and words for nothing."""
    return all(_HEADING.match(line) or _VOID_LINE.match(line) for line in map(str.strip, text.splitlines()))


def _is_echo(text: str, request: SummaryRequest) -> bool:
    """Whether the answer repeats the question: its beginning, its fences, or the records of the transcript."""
    if _RECORD.match(text) or any(fence in text for fence in _FENCES):
        return True
    return len(text) >= _ECHO_PROBE_CHARS and text[:_ECHO_PROBE_CHARS] in request.user[: _ECHO_PROBE_CHARS * 2]


def _shown(text: str) -> str:
    """The beginning of an unusable answer, for people who look for the cause. Redacted before it is cut: half a secret
    would not be known for one."""
    shown = redact(" ".join(text.split())).text
    return shown[:_SHOWN_CHARS] + ("…" if len(shown) > _SHOWN_CHARS else "")
