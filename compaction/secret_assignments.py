"""Assignments with secret-like names, in whatever notation: env files, JSON (escaped any number of times), YAML,
Python reprs, code, headers, command options, query strings, and prose ("the password is hunter22", 密码是…).

The scan looks for the last word of such names followed by something that assigns; the name is then read backwards
and judged with its value. All look-around is bounded, so time is linear in the length of the text.
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
    "auth|jwt|psk|bearer|密码|密碼|口令|密钥|密鑰|私钥|令牌"
)
_CLOSE: Final = r"\\{0,7}[\"'`]?\]?(?:\*\*)?"
# Pairs such as {"name": "DB_PASSWORD", "value": "…"} and their YAML and XML forms.
_PAIR: Final = r"\\{0,7}[\"']?[\s,]{1,24}\\{0,7}[\"']?value\\{0,7}[\"']?\s{0,2}[:=]\s{0,2}"
# Text is lowered before the scan. The value follows the match.
_ASSIGNMENT: Final = re.compile(
    rf"(?P<name>(?:{_LAST_WORD})(?:_?\d{{1,3}}|[_-](?:value|string|plain|plaintext|text|b64|base64|new|old|raw))?)"
    rf"(?:{_CLOSE}(?:\s{{0,8}}(?:[:=!]=?=?>?|：|=>)\s{{0,8}}(?:\n[ \t]{{0,16}})?"
    rf"|(?P<prose>\s{{1,3}}(?:is|was|to)(?:\s{{1,3}}(?:now|set to|actually))?:?\s{{1,3}}"
    rf"|\s{{0,2}}(?:是|为|為|設為|设为)[:：]?\s{{0,2}}))"
    rf"|{_PAIR})"
)
# --token abc, ["--token", "abc"], and the Dockerfile's and Windows' NAME VALUE.
_OPTION: Final = re.compile(
    r"(?:--|\b(?:ENV|setx) )(?P<name>[A-Za-z][\w-]{1,60})(?:[ =]\s{0,2}|[\"']\s{0,2},\s{0,2}(?=\\{0,7}[\"'][^\-\"'\\]))"
)
_OPENING: Final = re.compile(r"(?:[fFrRbBuU]{1,2}(?=[\"']))?(\\{0,7}(?:\"\"\"|'''|[\"'`]|[“‘]))")
_OPENERS: Final = frozenset("fFrRbBuU\\\"'`“‘")
_CLOSED: Final = {"“": "”", "‘": "’"}
_NAME_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")

# A bare value: up to a delimiter. A backslash belongs to it unless it begins an escape of the text around it; an equals
# sign when nothing is assigned by it (padding). At the opening of a line only blanks and quotes end a value.
_ESCAPE: Final = r"&(?![&\s]|[A-Za-z_][\w-]{0,40}=|amp;)|\\(?![nrtu\"'\\])|=(?![A-Za-z0-9=])|=(?==(?![A-Za-z0-9=]))"
# Shorter bare values are never judged to be secrets; saying so early keeps dense texts fast.
_LEAST_BARE: Final = (0, 12, 6, 3)
_LATIN: Final = "\u00a1-\u024f"
_BARE: Final = re.compile(rf"(?:[!#-%*+\--:?-Z^_a-z~{_LATIN}]|{_ESCAPE}){{1,160}}")
_BARE_LINE: Final = re.compile(rf"(?:[!#-&(-<>-\[\]-_a-~{_LATIN}]|{_ESCAPE}){{1,160}}")
_REST: Final = re.compile(r"[A-Za-z0-9+/=_.~-]*")
_BEFORE_NAME: Final = frozenset(" \t\n|>+*-\"'")
_LINE_OPENINGS: Final = frozenset({"", "export", "set"})
_NEXT_PARAMETER: Final = re.compile(r"&[A-Za-z_]\w*=")


def find_assignments(text: str) -> Iterator[FoundKey]:
    """Values of secret-like names in `text`, without their quotes. Linear in the length of the text."""
    lowered = text.replace("\u0130", "i").lower()
    position = 0
    while match := _ASSIGNMENT.search(lowered, position):
        found = _judge(text, match, _name_start(text, match.start()))
        position = max(match.end(), found.end) if found else match.end()
        if found:
            yield found


def find_options(text: str) -> Iterator[FoundKey]:
    """Values of command options with secret-like names, where a blank or a list's comma assigns."""
    for match in _OPTION.finditer(text):
        found = _judge(text, match, match.start("name"))
        if found:
            yield found


def _judge(text: str, match: re.Match[str], name_start: int) -> FoundKey | None:
    strength = name_strength(text[name_start : match.end("name")])
    start = match.end()
    if strength is NameStrength.NONE or text.startswith(MASK, start):
        return None
    is_prose = "prose" in match.re.groupindex and match.group("prose") is not None
    opening = _OPENING.match(text, start) if text[start : start + 1] in _OPENERS else None
    if opening:
        return _quoted(text, opening, strength, is_prose or "==" in match.group())
    return _bare(text, start, strength, is_prose, not is_prose and _opens_line(text, name_start))


def _name_start(text: str, end: int) -> int:
    start = _word_start(text, end)
    # "api key: …": in prose the owner of a key stands apart.
    if start == end and text[end - 1 : end] == " ":
        return _word_start(text, end - 1)
    return start


def _word_start(text: str, end: int) -> int:
    start = end
    floor = max(0, end - _MAX_NAME)
    while start > floor and text[start - 1] in _NAME_CHARACTERS:
        start -= 1
    # The letter of an escape is no part of a name: "\ntoken=…" inside JSON.
    return start + 1 if text[start - 1 : start] == "\\" and text[start : start + 1] in "nrt" and start < end else start


def _bare(text: str, start: int, strength: NameStrength, is_prose: bool, opens_line: bool) -> FoundKey | None:
    end = _bare_end(text, start, opens_line)
    if end - start < _LEAST_BARE[strength]:
        return None
    is_tight = text[start - 1] == "=" and not text[start - 2].isspace()
    value = NamedValue(text[start:end], strength, False, is_tight or _ends_clause(text, end), is_prose)
    if not is_secret_value(value):
        return None
    rest = _REST.match(text, end) if text[end : end + 1] == "=" or end - start > 150 else None
    return FoundKey(start, rest.end() if rest else end, "assignment")


def _opens_line(text: str, name_start: int) -> bool:
    if name_start and text[name_start - 1] not in _BEFORE_NAME:
        return False
    line = text[max(0, name_start - 40) : name_start].rpartition("\n")[2]
    return line.strip(" \t>|+*-\"'") in _LINE_OPENINGS


def _bare_end(text: str, start: int, opens_line: bool) -> int:
    match = (_BARE_LINE if opens_line else _BARE).match(text, start)
    if match is None:
        return start
    if not opens_line:
        return start + len(match.group().rstrip(".:!?\\"))
    parameter = _NEXT_PARAMETER.search(text, start, match.end() + 2)
    return parameter.start() if parameter else start + len(match.group().rstrip(",;:)]}"))


def _ends_clause(text: str, end: int) -> bool:
    first, second = text[end : end + 1], text[end + 1 : end + 2]
    if not first or first in "\r\n,;)]}&|\"'`<，。；":
        return True
    return (first in ".!?:" and second in ("", " ", "\r", "\n")) or (first == " " and second in ("", "#", "-", "\\"))


def _quoted(text: str, opening: re.Match[str], strength: NameStrength, is_prose: bool) -> FoundKey | None:
    quote, start = opening.group(1), opening.end()
    if text[start : start + 1] in " ,.)]}:;+" or text.startswith(MASK, start):
        return None
    end = _closing(text, _CLOSED.get(quote, quote), start)
    if end <= start:
        return None
    value = NamedValue(text[start:end], strength, True, True, is_prose)
    return FoundKey(start, end, "assignment") if is_secret_value(value) else None


def _closing(text: str, quote: str, start: int) -> int:
    line = text.find("\n", start, start + _MAX_VALUE) if len(quote) < 3 else -1
    limit = line if line >= 0 else start + _MAX_VALUE
    end = text.find(quote, start, limit)
    # An escaped quote inside: go on to the next one that is not.
    while end > start and len(quote) == 1 and text[end - 1] == "\\" and text[end - 2 : end] != "\\\\":
        end = text.find(quote, end + 1, limit)
    if end >= 0:
        return end
    bare = _BARE.match(text, start)
    return bare.end() if bare else start
