"""Prose as sentences, and what a sentence is about: a decision, a rule, something done, an error, a plan.

English and Chinese. The cues are plain words; nothing here understands text. It is good enough to choose which
sentences to quote, and never changes one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TABLE_OR_RULE: Final = re.compile(r"^\s*(?:\|.*|[-=*_]{3,}\s*)$", re.MULTILINE)
_BOUNDARY: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'`(\[*])|(?<=[。！？；])|\n+")
_LEADING: Final = re.compile(r"^(?:#{1,6}\s+|>\s*|[-*•]\s+|\d+[.)、]\s*|\*\*)+")
_CJK: Final = re.compile("[\u4e00-\u9fff]")
_MOST_SCANNED_CHARS: Final = 60_000
# Courtesies say nothing about the work, whatever words they hold.
_COURTESY: Final = re.compile(
    r"\b(?:have a (?:great|good|nice|wonderful|fantastic|lovely)|feel free|let me know|happy to (?:help|assist)|"
    r"looking forward|you['’]re welcome|here to (?:help|assist)|any (?:other|further) (?:questions|assistance)|"
    r"thank you|thanks for|great question|good catch)\b|不客气|随时告诉我|祝你",
    re.IGNORECASE,
)


class Cue(StrEnum):
    """What a sentence is about; `NONE` when no cue is found."""

    RULE = "rule"
    DECISION = "decision"
    ERROR = "error"
    DONE = "done"
    PLAN = "plan"
    QUESTION = "question"
    NONE = "none"


_CUES: Final = (
    (
        Cue.RULE,
        re.compile(
            r"\b(?:never|do not|don['’]t|must(?: not)?|mustn['’]t|always|only (?:use|change|touch)|avoid|"
            r"leave .{1,40} alone|without (?:changing|touching)|no (?:new|more) \w+|forbidden)\b|"
            r"不要|不得|禁止|必须|别动|不能|不许|只能|务必|一律",
            re.IGNORECASE,
        ),
    ),
    (
        Cue.DECISION,
        re.compile(
            r"\b(?:decid\w+|decision|chose|choose|chosen|instead of|rather than|we(?:['’]ll| will) (?:use|keep|go)|"
            r"settled on|agreed|because|the reason|so that|trade-?off)\b|决定|选择|采用|改用|因为|而不是|原因|方案",
            re.IGNORECASE,
        ),
    ),
    (
        Cue.ERROR,
        re.compile(
            r"\b(?:error|fail(?:s|ed|ing|ure)?|exception|traceback|bug|broken|crash\w*|regress\w+|root cause|wrong|"
            r"leak\w*|timeout|timed out|race)\b|错误|失败|异常|崩溃|报错|问题出在|根因|超时|缺陷",
            re.IGNORECASE,
        ),
    ),
    (
        Cue.DONE,
        re.compile(
            r"\b(?:added|fixed|changed|updated|implemented|removed|renamed|moved|created|wrote|replaced|refactored|"
            r"committed|merged|deployed|verified|confirmed|pass(?:es|ed)|done|finished|completed|works now)\b|"
            r"已|完成|修复|添加|新增|修改|删除|重构|更新了|通过了|提交",
            re.IGNORECASE,
        ),
    ),
    (
        Cue.PLAN,
        re.compile(
            r"\b(?:next|then i|will|let me|going to|remaining|still (?:need|to)|todo|to do|plan to|should)\b|"
            r"接下来|下一步|然后|待办|还需要|将要|计划|剩下",
            re.IGNORECASE,
        ),
    ),
)


def sentences(text: str) -> Iterator[str]:
    """The sentences of `text` in order, without code blocks, tables, bullets, heading marks and courtesies."""
    prose = _TABLE_OR_RULE.sub("", _FENCED.sub("\n", text[:_MOST_SCANNED_CHARS]))
    for piece in _BOUNDARY.split(prose):
        sentence = " ".join(_LEADING.sub("", piece.strip()).replace("**", "").split()).strip("*_ ")
        is_long_enough = len(sentence) > 3 or (sentence and is_chinese(sentence))
        if is_long_enough and not _COURTESY.search(sentence):
            yield sentence


def cue_of(sentence: str) -> Cue:
    """The first cue that is found in `sentence`, in the order of `Cue`."""
    if sentence.endswith(("?", "？")):
        return Cue.QUESTION
    return next((cue for cue, pattern in _CUES if pattern.search(sentence)), Cue.NONE)


def is_chinese(text: str) -> bool:
    """Whether a fair part of `text` is written in Chinese."""
    sample = text[:2_000]
    return len(_CJK.findall(sample)) * 5 >= len(sample) > 0


def clip(text: str, limit_chars: int) -> str:
    """`text` within `limit_chars`, cut at a word where there is one, with a mark when something is missing."""
    if len(text) <= limit_chars:
        return text
    cut = text[: limit_chars - 1]
    space = cut.rfind(" ", limit_chars // 2)
    return (cut[:space] if space > 0 else cut).rstrip(" ,;:") + "…"
