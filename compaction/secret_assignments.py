"""Assignments with secret-like names, in whatever notation: env files, JSON (escaped any number of times), YAML,
Python reprs, code, headers, command options, query strings, and prose ("the password is hunter22", 密码是…).

The scan looks for the last word of such names followed by something that assigns; the name is then read backwards
and judged with its value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from compaction.secret_names import NameStrength, name_strength
from compaction.secret_values import MASK, NamedValue, is_secret_value
from compaction.vendor_keys import FoundKey

_MAX_NAME: Final = 64
_MAX_VALUE: Final = 4_096

_LAST_WORD: Final = (
    "password|passwd|passphrase|passcode|passwort|kennwort|senha|pwd|pass|pw|secret|token|key|credentials|credential|"
    "auth|jwt|psk|bearer|dsn|密码|密碼|口令|密钥|密鑰|私钥|令牌"
)
_CLOSE: Final = r"\\{0,7}[\"'`]?\]?(?:\*\*)?"
_OPTION: Final = r"[\"']\s{0,2},\s{0,2}(?=\\{0,7}[\"'][^\-\"'\\])"
# Pairs such as {"name": "DB_PASSWORD", "value": "…"} and their YAML and XML forms.
_PAIR: Final = r"\\{0,7}[\"']?[\s,]{1,24}\\{0,7}[\"']?value\\{0,7}[\"']?\s{0,2}[:=]\s{0,2}"
# Text is lowered before the scan. The value follows the match.
_ASSIGNMENT: Final = re.compile(
    rf"(?P<name>(?:{_LAST_WORD})(?:_?\d{{1,3}}|[_-](?:value|string|plain|plaintext|text|b64|base64|new|old|raw))?)"
    rf"(?:(?P<pair>{_PAIR})"
    rf"|{_CLOSE}(?:\s{{0,8}}(?:[:=!]=?=?>?|：|=>)\s{{0,8}}(?:\n[ \t]{{0,16}})?"
    rf"|(?P<prose>\s{{1,3}}(?:is|was|to)(?:\s{{1,3}}(?:now|set to|actually))?:?\s{{1,3}}"
    rf"|\s{{0,2}}(?:是|为|為|設為|设为)[:：]?\s{{0,2}}))"
    rf"|(?P<option>[ =]\s{{0,2}}|{_OPTION}))"
)
_NAME_BEFORE: Final = re.compile(r"[A-Za-z0-9_.\-\u4e00-\u9fff]*$")
_OPENING: Final = re.compile(r"(?:[fFrRbBuU]{1,2}(?=[\"']))?(\\{0,7}(?:\"\"\"|'''|[\"'`]|[“‘]))")
# A backslash belongs to a bare value unless it begins an escape of the text around it.
_BARE: Final = re.compile(r"(?:[^\s\"'`,;<>(){}\[\]|&，。；、\\]|\\(?![nrtu\"'\\]))+")
_BARE_LINE: Final = re.compile(r"(?:[^\s\"'`，。；\\]|\\(?![nrtu\"'\\]))+")
_LINE_START: Final = re.compile(r"(?:^|\n)[ \t>|+*-]{0,24}(?:export |set |setx |env |- )?[\"']?$")
_NEXT_PARAMETER: Final = re.compile(r"&[A-Za-z_]\w*=")
_CLOSED: Final = {"“": "”", "‘": "’"}


def find_assignments(text: str) -> Iterator[FoundKey]:
    """Values of secret-like names in `text`, without their quotes. Linear in the length of the text."""
    lowered = text.replace("\u0130", "i").lower()
    position = 0
    while match := _ASSIGNMENT.search(lowered, position):
        found = _judge(text, match)
        position = match.end()
        if found is not None:
            position = max(position, found.end)
            yield found


def _judge(text: str, match: re.Match[str]) -> FoundKey | None:
    start = match.start()
    name_start = _name_start(text, start)
    if match.group("option") and not _is_option(text, name_start):
        return None
    strength = name_strength(text[name_start : match.end("name")])
    if strength is NameStrength.NONE:
        return None
    return _value(text, match, strength, name_start)


def _name_start(text: str, end: int) -> int:
    before = _NAME_BEFORE.search(text[max(0, end - _MAX_NAME) : end])
    start = end - len(before.group()) if before else end
    # "api key: …": the owner of a key may stand apart in prose.
    if start == end and text[max(0, end - 1) : end] == " ":
        before = _NAME_BEFORE.search(text[max(0, end - _MAX_NAME) : end - 1])
        if before and before.group():
            return end - 1 - len(before.group())
    return start


def _is_option(text: str, name_start: int) -> bool:
    return text.startswith("--", name_start) or text[max(0, name_start - 5) : name_start].endswith(("ENV ", "setx "))


def _value(text: str, match: re.Match[str], strength: NameStrength, name_start: int) -> FoundKey | None:
    start = match.end()
    if text.startswith(MASK, start):
        return None
    opening = _OPENING.match(text, start)
    if opening:
        return _quoted(text, opening, strength, match)
    line_start = _LINE_START.search(text[max(0, name_start - 40) : name_start])
    span = _bare_span(text, start, at_line_start=bool(line_start) and not match.group("prose"))
    if span is None:
        return None
    is_tight = text[start - 1] == "=" and not text[start - 2].isspace()
    ends_clause = is_tight or _ends_clause(text, span[1])
    value = NamedValue(text[span[0] : span[1]], strength, False, ends_clause, bool(match.group("prose")))
    return FoundKey(*span, "assignment") if is_secret_value(value) else None


def _quoted(text: str, opening: re.Match[str], strength: NameStrength, match: re.Match[str]) -> FoundKey | None:
    quote, start = opening.group(1), opening.end()
    end = _closing(text, _CLOSED.get(quote, quote), start)
    if end <= start or text[start] in " ,)]}:;+" or text.startswith(MASK, start):
        return None
    value = NamedValue(text[start:end], strength, True, True, bool(match.group("prose")) and quote not in "`\"'")
    return FoundKey(start, end, "assignment") if is_secret_value(value) else None


def _closing(text: str, quote: str, start: int) -> int:
    limit = start + _MAX_VALUE
    end = text.find(quote, start, limit)
    # An escaped quote inside: go on to the next one that is not.
    while end > start and len(quote) == 1 and text[end - 1] == "\\" and text[end - 2 : end] != "\\\\":
        end = text.find(quote, end + 1, limit)
    line = text.find("\n", start, end if end >= 0 else limit)
    if line >= 0 and len(quote) < 3:
        end = line
    if end < 0:
        bare = _BARE.match(text, start)
        end = bare.end() if bare else start
    return end


def _bare_span(text: str, start: int, at_line_start: bool) -> tuple[int, int] | None:
    match = (_BARE_LINE if at_line_start else _BARE).match(text, start)
    if match is None:
        return None
    end = match.end()
    if at_line_start:
        parameter = _NEXT_PARAMETER.search(text, start, end)
        end = parameter.start() if parameter else end
        end = start + len(text[start:end].rstrip(",;:)]}"))
    else:
        end = start + len(text[start:end].rstrip(".:!?\\"))
    return (start, end) if end > start else None


def _ends_clause(text: str, end: int) -> bool:
    first, second = text[end : end + 1], text[end + 1 : end + 2]
    if not first or first in "\r\n,;)]}&|\"'`<，。；":
        return True
    return (first in ".!?:" and second in ("", " ", "\r", "\n")) or (first == " " and second in ("", "#", "-", "\\"))
