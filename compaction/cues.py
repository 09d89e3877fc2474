"""What a sentence is about, by plain words: a rule, a decision, a finding, something done, an intention, a question.

English and Chinese. Nothing here understands text; it is good enough to choose which sentences to quote. A cue comes
with a weight: how telling the sentence is beside others of its kind.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from compaction.sentences import Sentence


class Cue(StrEnum):
    """What a sentence is about. INTENTION is what an agent says before it acts; REMAINING is work that is left."""

    RULE = "rule"
    DECISION = "decision"
    FINDING = "finding"
    DONE = "done"
    REMAINING = "remaining"
    INTENTION = "intention"
    QUESTION = "question"
    NONE = "none"


_RULE: Final = re.compile(
    r"\b(?:never|do not|don['’]t|must(?: not)?|mustn['’]t|always|only (?:use|change|touch|edit)|avoid|make sure|"
    r"leave .{1,40} (?:alone|as (?:it is|is|they are))|"
    r"without (?:changing|touching|breaking)|no (?:new|more|other) \w+|"
    r"forbidden|not allowed|keep .{1,40} (?:as (?:it|they)|unchanged|untouched)|i (?:want|prefer|need) you to)\b|"
    r"不要|不得|禁止|必须|别动|不能|不许|只能|务必|一律|不允许|保持.{1,20}不变",
    re.IGNORECASE,
)
_STRONG_DECISION: Final = re.compile(
    r"\b(?:decid(?:ed?|ing)|decision|chose|chosen|opted|going with|went with|settled on|agreed|stick(?:ing)? with|"
    r"(?:we|i)(?:['’]ll| will| now| should)? (?:keep|use|go with|prefer|rely on)|by design|trade-?off|the plan is)\b|"
    r"决定|选定|选择了|采用|改用|定为|约定|方案是",
    re.IGNORECASE,
)
_CONTRAST: Final = re.compile(r"\b(?:instead of|rather than|in favou?r of|over the)\b|而不是|而非|代替", re.IGNORECASE)
_REASON: Final = re.compile(
    r"\b(?:because|so that|since|to avoid|the reason|in order to)\b|因为|为了|以免|原因", re.IGNORECASE
)
_FINDING: Final = re.compile(
    r"\b(?:root cause|culprit|turns? out|caused by|due to|(?:the|"
    r"real|actual|main) (?:issue|problem|bug|cause|reason|error)"
    r" (?:is|was|here is|lies)|(?:fails?|failed|breaks?|broke|crashe[sd]|hangs?) (?:because|when|with|on|in)|"
    r"regression|race condition|deadlock|"
    r"\w+(?:Error|Exception))\b|根因|问题(?:是|在于|出在)|原因(?:是|在于)|由于|导致",
    re.IGNORECASE,
)
_DONE_VERBS: Final = (
    "added|fixed|changed|updated|implemented|removed|renamed|moved|created|wrote|written|replaced|refactored|committed|"
    "merged|deployed|verified|confirmed|finished|completed|extended|split|rewrote|rewritten|installed|pushed|reverted|"
    "restored|cleaned|simplified|resolved|corrected|converted|enabled|disabled|deleted|extracted|applied|addressed|"
    "booked|cancell?ed|processed|sent|scheduled|reserved|generated|calculated|set up"
)
_DONE: Final = re.compile(
    rf"[:;] (?:{_DONE_VERBS})\b|"
    rf"^(?:(?:i|we)(?:['’]ve| have)? )?(?:also |now |successfully |just |then )*(?:{_DONE_VERBS})\b|"
    rf"\b(?:i|we)(?:['’]ve| have)? (?:also |now |successfully |just )*(?:{_DONE_VERBS})\b|"
    rf"\b(?:has|have|was|were|is|are) (?:now |been |successfully |all )*(?:{_DONE_VERBS})\b|"
    r"\b(?:all|\d+) (?:\w+ ){0,2}(?:tests?|checks?|cases|specs)\b.{0,20}\bpass|\btests? (?:now |all )?pass|"
    r"\b(?:works?|compiles?|builds?|passes) (?:now|correctly|fine|"
    r"cleanly|without)\b|\bnow (?:works|passes|returns|uses|shows)\b|"
    r"^(?:我)?(?:们)?(?:已经?|刚刚|成功)|已经?(?:完成|修复|添加|新增|修改|删除|更新|提交|创建|通过|预订|取消|发送|生成|设置|安排)|"
    r"(?:完成|修复|添加|新增|修改|删除|更新|提交|创建|重构|生成)了|测试(?:全部|都|均)?(?:已)?通过",
    re.IGNORECASE,
)
_REMAINING: Final = re.compile(
    r"\b(?:remaining|still (?:needs?|have|has|to|left|missing|open|fail\w*)|to-?do\b|not yet|left to do|follow-?ups?|"
    r"next steps?\b|pending|unresolved|yet to)\b|还需要|待办|剩下|尚未|未完成|下一步|还没有?|后续",
    re.IGNORECASE,
)
_INTENTION: Final = re.compile(
    r"^(?:(?:now|first|next|then|ok|and|but|also|so|finally),? )*(?:let me|"
    r"let['’]s|let us|i['’]ll|i will|i['’]m going to|"
    r"i need to|i should|i want to|i can|we need to|we should|"
    r"time to|going to|allow me|one moment|please (?:hold|wait))\b|"
    r"^now (?:for |the |add|update|check|run|i |we |to )|^(?:checking|"
    r"looking|running|searching|reading|trying|starting)\b|"
    r"^(?:现在|接下来|首先|然后|下面|先)?[，,]?(?:让我|我来|我将|我会|我先|我需要|我要|我们来|请稍等)",
    re.IGNORECASE,
)
# A sentence that opens so leans on the one before it.
_LEANING: Final = re.compile(
    r"^(?:this|that|these|those|it|they|but|so|and|or|if|when|"
    r"which|because|however|otherwise|then|here|there|what|how|why|"
    r"for example|e\.g|option|also|similarly|note)\b|^(?:这|那|它|但|所以|如果|而|并且|例如|不过)",
    re.IGNORECASE,
)
_HYPOTHETICAL: Final = re.compile(
    r"\b(?:could|might|would|may|maybe|perhaps|possibly|if you)\b|可能|也许|如果|可以考虑", re.IGNORECASE
)
_EXACT: Final = re.compile(
    r"`[^`]+`|\b[\w.-]+/[\w./-]+\b|\b\w+\(\)|\b\w+\.(?:py|ts|js|go|rs|md|json|ya?ml|toml|sql|sh)\b|\b\d[\d,.]*\b"
)
_HEADING_CUES: Final = (
    (re.compile(r"decision|approach|design|rationale|决定|方案", re.IGNORECASE), Cue.DECISION),
    (re.compile(r"next|remaining|todo|follow|下一步|待办", re.IGNORECASE), Cue.REMAINING),
    (
        re.compile(r"change|summary|done|complete|fix|what i|result|implement|修改|完成|总结|修复", re.IGNORECASE),
        Cue.DONE,
    ),
)


def cue_of(sentence: Sentence) -> Cue:
    """What `sentence` is about; a heading above decides only when its own words don't."""
    text = sentence.text
    if text.endswith(("?", "？")):
        return Cue.QUESTION
    if _INTENTION.search(text):
        return Cue.INTENTION
    if _REMAINING.search(text):
        return Cue.REMAINING
    if _DONE.search(text):
        return Cue.DONE
    if decision_weight(text) >= 2:
        return Cue.DECISION
    if _FINDING.search(text):
        return Cue.FINDING
    return next((cue for words, cue in _HEADING_CUES if words.search(sentence.heading)), Cue.NONE)


def is_rule(text: str) -> bool:
    """Whether a user sets a limit or a standing rule with `text`."""
    return _RULE.search(text) is not None


def decision_weight(text: str) -> int:
    """How surely `text` tells a decision: 3 for the words of deciding, more with a reason; 0 when it only supposes."""
    if _HYPOTHETICAL.search(text):
        return 0
    weight = 3 if _STRONG_DECISION.search(text) else 0
    weight += 2 if _CONTRAST.search(text) else 0
    return weight + (1 if _REASON.search(text) else 0)


def telling(text: str) -> float:
    """How much `text` tells on its own: exact strings help, leaning on another sentence or supposing does not."""
    exact = min(3, len(_EXACT.findall(text)))
    leaning = 2.0 if _LEANING.search(text) else 0.0
    supposing = 1.5 if _HYPOTHETICAL.search(text) else 0.0
    brevity = 1.0 if len(text) < 30 and not exact else 0.0
    return exact - leaning - supposing - brevity
