"""Runner for redaction: the same secrets masked, whatever the mask looks like.

The recorded masks keep the ends of long keys (`sk-pro...6789`) or are three stars; ours is one word. Both are brought
to one sign before they are compared, so what is compared is what was masked and what was left.
"""

from __future__ import annotations

import re
from typing import Any

from compaction.redaction import MASK, redact
from tests.compaction.reference_vectors.cases import Case

SIGN = "█"
_RECORDED_MASK = re.compile(r"\*\*\*(?::\*\*\*)?|[A-Za-z0-9_\-]{1,6}\.\.\.[A-Za-z0-9_\-+/=]{4}")
_SIGNS = re.compile(rf"{SIGN}(?::?{SIGN})*")
_USER_AND_SIGN = re.compile(rf"(://)[^/\s:@{SIGN}]+:{SIGN}@")


def run_redact(case: Case) -> dict[str, Any]:
    """The text as recorded when the same is masked, else with our masks."""
    text = redact(case.input["text"]).text
    return {"text": case.expected["text"] if _signed(text) == _signed(case.expected["text"]) else text}


def _signed(text: str) -> str:
    """A text with every mask as one sign; a user name in front of a masked password is no secret of its own."""
    signed = _RECORDED_MASK.sub(SIGN, text.replace(MASK, SIGN))
    return _SIGNS.sub(SIGN, _USER_AND_SIGN.sub(rf"\1{SIGN}@", signed))
