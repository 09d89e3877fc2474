"""Names that say their value is a secret: `DB_PASSWORD`, `apiKey`, `client-secret`, 密码.

What counts is how the name ends: `token` names a secret, `max_tokens`, `token_count` and `password_file` don't. How
sure the name is decides how much the value must look like a secret (see `secret_values`).
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import Final


class NameStrength(IntEnum):
    """How surely a name speaks of a secret.

    NONE: not at all. KEYLIKE: perhaps (`openai_key`, `auth`). SECRET: a token, key or secret, which people don't
    choose. PASSWORD: what people choose, so the value may be a plain word or number.
    """

    NONE = 0
    KEYLIKE = 1
    SECRET = 2
    PASSWORD = 3


_PASSWORDS: Final = frozenset({
    "password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "pwd", "pw", "pass", "senha",
    "密码", "密碼", "口令",
})  # fmt: skip
_SECRETS: Final = frozenset({
    "secret", "token", "apikey", "credential", "credentials", "jwt", "psk", "bearer",
    "密钥", "密鑰", "私钥", "令牌",
})  # fmt: skip
_KEY_OWNERS: Final = frozenset({
    "api", "secret", "access", "private", "auth", "authentication", "signing", "encryption", "master", "account",
    "service", "session", "consumer", "license", "subscription", "webhook", "shared", "application", "storage", "admin",
    "deploy", "ssh", "rsa", "hmac", "jwt", "write", "client", "server", "rest", "functions", "host", "function",
})  # fmt: skip
# What stands before "key", "token" or "pass" when nothing secret is meant.
_OPEN_KEYS: Final = frozenset({
    "primary", "foreign", "public", "cache", "sort", "partition", "group", "dict", "row", "unique", "index", "object",
    "translation", "lookup", "idempotency", "routing", "map", "hash", "shard", "composite", "natural", "surrogate",
    "shortcut", "hot", "i18n", "message", "config", "env", "header", "column", "field", "order", "range", "query",
    "tab", "context", "join", "distribution", "dedupe", "dedup", "fingerprint", "etag", "s3", "pub", "unit",
    "websocket",
})  # fmt: skip
_OPEN_TOKENS: Final = frozenset({
    "next", "page", "pad", "eos", "bos", "sep", "stop", "cls", "unk", "mask", "max", "min", "first", "last", "special",
    "continuation", "sync", "cancellation", "cancel", "design", "per", "each", "total", "input", "output", "prompt",
    "start", "end", "num", "syntax", "current", "previous", "prev", "image", "added", "word", "single",
})  # fmt: skip
_PASS_OWNERS: Final = frozenset({
    "db", "database", "user", "smtp", "mail", "email", "admin", "root", "ftp", "mysql", "pg", "postgres", "redis",
    "login", "proxy", "auth", "http", "ssh", "sudo", "rabbitmq", "mongo", "ldap", "wifi", "imap", "my", "app",
})  # fmt: skip
_GLUED: Final = re.compile(
    r"(?:password|passwd|passphrase|secret|token|apikey|secretkey|accesskey|privatekey|accountkey|authkey|masterkey|"
    r"密钥|密鑰|私钥|令牌)$"
)
_GLUED_PASSWORDS: Final = ("password", "passwd", "passphrase")
_TRAILING: Final = frozenset({"value", "string", "plain", "plaintext", "text", "b64", "base64", "new", "old", "raw"})
_SEGMENTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[\u4e00-\u9fff]+")


@lru_cache(maxsize=4096)
def name_strength(name: str) -> NameStrength:
    """How surely `name` speaks of a secret. Reads snake, kebab, camel, dotted and upper case, and Chinese words."""
    segments = [segment.lower() for segment in _SEGMENTS.findall(name)]
    while segments and (segments[-1].isdigit() or (len(segments) > 1 and segments[-1] in _TRAILING)):
        segments.pop()
    if not segments or name in ("PWD", "OLDPWD"):
        return NameStrength.NONE
    if name == "_auth":  # npm's own
        return NameStrength.SECRET
    return _strength(segments[-1], segments[-2] if len(segments) > 1 else "")


def _strength(last: str, owner: str) -> NameStrength:
    if last in ("pass", "pw"):
        if not owner:
            return NameStrength.SECRET if last == "pass" else NameStrength.NONE
        return NameStrength.PASSWORD if owner in _PASS_OWNERS else NameStrength.NONE
    if last == "token" and owner in _OPEN_TOKENS:
        return NameStrength.NONE
    if last in _PASSWORDS:
        return NameStrength.PASSWORD
    if last in _SECRETS:
        return NameStrength.SECRET
    if last == "key":
        return _key_strength(owner)
    if last in ("auth", "cookie", "signature"):
        return NameStrength.KEYLIKE
    if last.endswith(("密码", "密碼", "口令")):
        return NameStrength.PASSWORD
    if _GLUED.search(last):
        return NameStrength.PASSWORD if last.endswith(_GLUED_PASSWORDS) else NameStrength.SECRET
    return NameStrength.NONE


def _key_strength(owner: str) -> NameStrength:
    if owner in _KEY_OWNERS:
        return NameStrength.SECRET
    return NameStrength.NONE if owner in _OPEN_KEYS else NameStrength.KEYLIKE
