"""Values after a secret-like name: is this the secret itself, or a placeholder, a look-up, a type, a word of prose?

The judgement is made on the value, how it is written (quoted or bare) and how sure the name is. It errs towards
masking for passwords and for values that look random, and towards leaving code and prose readable otherwise.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from compaction.secret_names import NameStrength, name_strength

MASK: Final = "[REDACTED]"


class NamedValue(NamedTuple):
    """A value with what is known of its place (a named tuple, because texts hold very many of them).

    quoted: it stands in quotes. ends_clause: nothing but punctuation or the line's end follows. is_prose: it follows
    "is", "was" or 是, or is compared, rather than assigned.
    """

    text: str
    strength: NameStrength
    quoted: bool
    ends_clause: bool
    is_prose: bool = False


_WORD: Final = re.compile(
    r"""(?:
        none|null|nil|true|false|undefined|void|required|optional|string|str|text|bytes|int|integer|bool|boolean|number|float|
        char|varchar|object|any|unknown|never|dict|list|array|map|function|func|class|type|self|this|password|passwd|secret|
        token|key|value|default|empty|missing|invalid|valid|expired|unset|set|hidden|disabled|enabled|include|omit|same-origin|
        changeme|change_me|todo|tbd|here|please|test|example|sample|dummy|fake-key|placeholder|redacted|masked|removed|basic|
        bearer|digest|env|var|variable|file|path|stdin|prompt|yes|no|on|off|auto|lambda|await|new|async|return|na|n/a|not|is|was|the|a|an|
        passed|failed|failure|success|skipped|ok|done|reset|changed|updated|incorrect|wrong|mismatch|denied
    )[.!]*""",
    re.VERBOSE | re.IGNORECASE,
)
_PLACEHOLDER: Final = re.compile(
    r"""^(?:
        \$\w|\$[({]|%\w+%|%[sdrv]|%\(|<|\{|\[|\(|\#\{|@\w+@|:\w+$|\?$|\\\(|
        (?:your|my|the|some|insert|enter|replace|change|add|put)[-_ \s]|(?:your|my)[A-Z]|
        (?:os|process|import\.meta|deno)\.(?:env|getenv)|env[.(\[]|getenv|secrets\.|settings\.|config\.|vars\.|
        self\.|this\.|std::|op://|vault:|ref\+|arn:|!(?:vault|secret|env|Ref|Sub|GetAtt)|
        https?://|file:|@\w+$|\#[0-9a-f]{3,8}$|\.{3}|…|[*xX•·.\-_\#?]+$|__\w+__$
    )""",
    re.VERBOSE | re.IGNORECASE,
)
# Written to show a format: sk-..., ghp_xxxxxxxx, abc123…
_SHOWN: Final = re.compile(r"[xX*•]{6}|\.{3}|…")
_LABEL_WORD: Final = re.compile(
    r"\b(?:the|your|my|must|is|are|be|please|enter|type|required|invalid|incorrect|field|passwords?|too|at|not|cannot|"
    r"of|for|wrong|forgot|new|confirm|current|change|reset|show|hide|minimum|characters|or|and|if|to|with|no)\b",
    re.IGNORECASE,
)
_CALL: Final = re.compile(r"[A-Za-z_][\w.:]*[(\[]")
_DOTTED: Final = re.compile(r"^[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+$")
_FILE_NAME: Final = re.compile(r"\.(?:pem|key|crt|cer|json|txt|ya?ml|env|p12|pfx|jks|pub|asc|conf|ini|toml)$")
_HUMP: Final = re.compile(r"[a-z][A-Z]")
_TECHNICAL: Final = re.compile(
    r"^(?:base64|sha-?\d+|md5|utf-?\d+|oauth2?|bcrypt|argon2|pbkdf2|hs\d+|rs\d+|es\d+|aes-?\d+|rsa-?\d*|"
    r"ed25519|x509|v\d+|http\d*|ipv[46]|k8s|\d+-(?:bit|byte|char|day|hour|minute))\b",
    re.IGNORECASE,
)
_RANDOM_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}")
_PLAIN_HASH: Final = re.compile(
    r"^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$", re.IGNORECASE
)
_DIGITS: Final = re.compile(r"[0-9]+")
_DIGIT: Final = re.compile(r"[0-9]")
_SEPARATED: Final = re.compile(r"[-_/.:\s]")
_NUMBER: Final = re.compile(r"^[+-]?\d[\d,._]*(?:e\d+)?(?:[a-zA-Z%]{1,3})?$")


def is_secret_value(value: NamedValue) -> bool:
    """Whether the value is to be masked. The name's strength must not be NONE."""
    text = value.text
    if len(text) < (12 if value.strength is NameStrength.KEYLIKE else 3):
        return False
    if MASK in text or _PLACEHOLDER.match(text) or _SHOWN.search(text) or _WORD.fullmatch(text):
        return False
    if _NUMBER.match(text):
        return _is_secret_number(value)
    if _is_path(text) or _names_a_secret(value):
        return False
    if not value.quoted and (_CALL.match(text) or _DOTTED.match(text)):
        return False
    if value.strength is NameStrength.KEYLIKE:
        return looks_random(text) and not _PLAIN_HASH.match(text)
    if value.quoted:
        return _is_secret_literal(value)
    return _is_secret_word(value)


def looks_random(text: str) -> bool:
    """Whether `text` holds a long run that mixes letters and digits, as generated keys do."""
    for run in _RANDOM_RUN.finditer(text[:512]):
        pieces = _SEPARATED.split(run.group())
        longest = max(pieces, key=len)
        digits = sum(character.isdigit() for character in longest)
        # Names end in a number at most; generated keys have digits all over.
        if (
            len(longest) >= 12
            and len(longest) - digits >= 2
            and (len(_DIGITS.findall(longest)) >= 2 or 2 <= digits >= len(longest) / 4)
        ):
            return True
    return False


def _is_secret_number(value: NamedValue) -> bool:
    digits = sum(character.isdigit() for character in value.text)
    if value.strength is NameStrength.PASSWORD:
        return digits >= 4 and value.ends_clause
    return value.quoted and digits >= 8


def _is_secret_literal(value: NamedValue) -> bool:
    text = value.text
    if value.strength is NameStrength.PASSWORD:
        # A sentence in quotes is a label or a message, a phrase of a few plain words may be a passphrase.
        return " " not in text or (len(text.split()) <= 6 and not _LABEL_WORD.search(text)) or looks_random(text)
    if " " in text.strip():
        return looks_random(text)
    if text.isidentifier() and not _DIGIT.search(text):
        return len(text) >= 6 and not value.is_prose
    return len(text) >= 6 and not (_DOTTED.match(text) and not _DIGIT.search(text))


def _is_secret_word(value: NamedValue) -> bool:
    text = value.text
    if _TECHNICAL.match(text):
        return False
    has_digit = _DIGIT.search(text) is not None
    if value.is_prose:
        return has_digit and len(text) >= 5 and any(character.isalpha() for character in text)
    if has_digit or not text.isidentifier():
        return len(text) >= (4 if value.strength is NameStrength.PASSWORD else 6) and any(
            character.isalnum() for character in text
        )
    if value.strength is NameStrength.PASSWORD:
        return value.ends_clause and text.isascii() and not _HUMP.search(text)
    return len(text) >= 20 and value.ends_clause and text.isascii() and text.islower() and "_" not in text


def _is_path(text: str) -> bool:
    if text.startswith(("/", "./", "../", "~/")) or re.match(r"^[A-Za-z]:\\", text):
        return not looks_random(text) or "." in text
    return _FILE_NAME.search(text) is not None or ("/" in text and re.search(r"\.[a-z]{2,5}$", text) is not None)


def _names_a_secret(value: NamedValue) -> bool:
    # password=password, token=access_token, key: OPENAI_API_KEY: the value is itself such a name.
    text = value.text
    if not re.fullmatch(r"[A-Za-z_$][\w$.-]*", text) or len(text) > 64:
        return False
    text = text.rstrip("0123456789")
    if _DIGIT.search(text):
        return False
    return name_strength(text) > NameStrength.KEYLIKE or text.lower().endswith(("_key", "key", "keys", "tokens"))
