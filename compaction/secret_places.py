"""Places where secrets stand whatever they look like: key blocks, auth headers, URLs, assignments, command options.

Each finder yields the secret alone, without quotes, schemes or names, so what is left says what was there. Patterns
have bounded repeats and finders skip what they have read: time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from compaction.secret_names import NameStrength, name_strength
from compaction.secret_values import MASK, NamedValue, is_secret_value, looks_random
from compaction.vendor_keys import FoundKey

_QUOTE: Final = r"\\{0,7}[\"'`“”‘’]"

_PEM_BEGIN: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END: Final = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
# The body of a block that was cut off: lines of base64, perhaps numbered, with real or escaped line ends.
_PEM_BODY: Final = re.compile(
    r"(?:(?:\s|\\[nr]){1,4}(?:[ \t]{0,8}\d{1,6}[\t|:→ ]{1,3})?[A-Za-z0-9+/=]{16,128})*[A-Za-z0-9+/=]{0,64}"
)
_PEM_RUN: Final = re.compile(r"[A-Za-z0-9+/]{30}")
_PEM_MAX_CHARACTERS: Final = 20_000

_HEADER: Final = re.compile(
    rf"(?i:authorization)(?:{_QUOTE})?\]?\s{{0,4}}[:=,]\s{{0,4}}(?:{_QUOTE})?"
    r"(?P<scheme>(?i:bearer|basic|token|digest|apikey|api-key|negotiate|bot|splunk|sso-key|key)(?:\s{1,4}|%20|=))?"
    r"(?P<value>[^\s\"'`\\,;<>(){}\[\]]{3,})(?![(\[])"
)
_BEARER: Final = re.compile(r"(?i:bearer)(?:\s{1,4}|%20)([A-Za-z0-9._~+/=-]{8,})")
_COOKIE: Final = re.compile(
    rf"(?i:cookie)(?:{_QUOTE})?\s{{0,2}}:\s{{0,2}}(?:{_QUOTE})?([\w.-]{{1,64}}=[^\r\n\"'`<>]{{4,4096}})"
)
_COOKIE_PAIR: Final = re.compile(r"([\w.-]{1,64})=([^;\s]{8,})")

_USERINFO: Final = re.compile(r"://([^\s/?#\"'`<>\\]{1,512})@(?=[\w\[{$%.-])")
_QUERY: Final = re.compile(r"[?&](?:amp;)?([A-Za-z_][A-Za-z0-9_.\-]{0,40})=([^&\s\"'`<>#\\)\]}]{1,4096})")
_QUERY_ONLY_NAMES: Final = frozenset({
    "key", "sig", "signature", "code", "auth", "x-amz-signature", "x-amz-credential", "x-amz-security-token",
    "x-goog-signature", "x-goog-credential", "awsaccesskeyid", "hapikey", "hmac", "sas", "ticket", "otp", "session",
    "sessionid", "sid", "jwt", "assertion", "saml", "pass", "access_key", "auth_key", "refresh", "oauth_verifier",
})  # fmt: skip

# An option that takes a secret when the command before it on the line is one of its own.
_COMMAND_OPTIONS: Final = (
    (
        re.compile(r"-(?:u|U|-user|-proxy-user)[\s=]{1,2}[\"']?[^\s:\"'$]{1,64}:([^\s\"']{2,200})"),
        re.compile(r"\b(?:curl|wget|https?|xh)\s"),
    ),
    (
        re.compile(r"-p\s{0,3}[\"']?([^\s\"'|;$-][^\s\"'|;]{2,200})"),
        re.compile(r"\b(?:sshpass|mysql(?:dump|admin|import)?|mariadb|docker\s{1,3}login|podman\s{1,3}login)\s"),
    ),
    (re.compile(r"-a\s{1,3}[\"']?([^\s\"'|;$-][^\s\"'|;]{2,200})"), re.compile(r"\bredis-cli\s")),
)
_NETRC: Final = re.compile(r"\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(\S{3,200})")
_XML: Final = re.compile(r"<([A-Za-z][\w.:-]{2,60})>\s{0,4}([^<>\s]{3,512})\s{0,4}</")
_AWS_SECRET: Final = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])")
_AWS_ID: Final = re.compile(r"A(?:KIA|SIA)[A-Z0-9]{16}")


def find_key_blocks(text: str) -> Iterator[FoundKey]:
    """Private keys in PEM armour, whole or cut at either end, on lines or with escaped line ends."""
    begin = _PEM_BEGIN.search(text)
    while begin:
        following = _PEM_BEGIN.search(text, begin.end())
        limit = min(following.start() if following else len(text), begin.end() + _PEM_MAX_CHARACTERS)
        yield FoundKey(begin.start(), _key_block_end(text, begin.end(), limit), "private_key")
        begin = following


def _key_block_end(text: str, start: int, limit: int) -> int:
    end = _PEM_END.search(text, start, limit)
    if end and (end.start() - start < 200 or _PEM_RUN.search(text, start, end.start())):
        return end.end()
    body = _PEM_BODY.match(text, start, limit)
    return body.end() if body else start


def find_auth_headers(text: str) -> Iterator[FoundKey]:
    """Credentials of Authorization headers, bearer tokens on their own, and cookies."""
    if "uthorization" in text or "UTHORIZATION" in text:
        for match in _HEADER.finditer(text):
            if _is_header_credential(match["value"], has_scheme=match["scheme"] is not None):
                yield FoundKey(match.start("value"), match.end("value"), "auth_header")
    for match in _BEARER.finditer(text):
        if len(match.group(1)) >= 20 and not match.group(1).isalpha() or looks_random(match.group(1)):
            yield FoundKey(match.start(1), match.end(1), "auth_header")
    if "ookie" in text or "COOKIE" in text:
        for match in _COOKIE.finditer(text):
            yield from _cookie_pairs(match)


def find_url_secrets(text: str) -> Iterator[FoundKey]:
    """User info and secret query parameters of URLs, of databases as well as of the web."""
    for match in _USERINFO.finditer(text):
        if _is_userinfo_secret(match.group(1)):
            yield FoundKey(match.start(1), match.end(1), "url_credentials")
    for match in _QUERY.finditer(text):
        name, value = match.group(1), match.group(2)
        if _is_query_secret(name, value):
            yield FoundKey(match.start(2), match.end(2), "query_parameter")


def find_command_secrets(text: str) -> Iterator[FoundKey]:
    """Passwords that commands and their files take by place: curl -u, mysql -p, sshpass, netrc; and XML elements."""
    for option, command in _COMMAND_OPTIONS:
        for match in option.finditer(text):
            if _follows(text, match.start(), command) and _is_credential(match.group(1)):
                yield FoundKey(match.start(1), match.end(1), "command_option")
    for match in _NETRC.finditer(text) if "login" in text else ():
        if _is_credential(match.group(1)):
            yield FoundKey(match.start(1), match.end(1), "command_option")
    for match in _XML.finditer(text) if "</" in text else ():
        strength = name_strength(match.group(1))
        if strength and is_secret_value(NamedValue(match.group(2), strength, quoted=True, ends_clause=True)):
            yield FoundKey(match.start(2), match.end(2), "assignment")


def find_aws_secrets(text: str) -> Iterator[FoundKey]:
    """The 40 characters of an AWS secret key within reach of an access key id: alone they look like anything."""
    known = _AWS_ID.search(text)
    while known:
        following = _AWS_ID.search(text, known.end())
        limit = min(known.end() + 300, following.start() if following else len(text))
        for match in _AWS_SECRET.finditer(text, known.end(), limit):
            if any(c.islower() for c in match.group()) and any(c.isupper() for c in match.group()):
                yield FoundKey(match.start(), match.end(), "aws_secret")
        known = following


def _follows(text: str, position: int, command: re.Pattern[str]) -> bool:
    start = max(0, position - 300, text.rfind("\n", max(0, position - 300), position))
    return text[position - 1 : position].isspace() and command.search(text, start, position) is not None


def _cookie_pairs(cookie: re.Match[str]) -> Iterator[FoundKey]:
    for pair in _COOKIE_PAIR.finditer(cookie.group(1)):
        name, value = pair.group(1).lower(), pair.group(2)
        if name not in ("path", "domain", "expires", "max-age", "samesite") and _is_credential(value):
            offset = cookie.start(1)
            yield FoundKey(offset + pair.start(2), offset + pair.end(2), "cookie")


def _is_credential(value: str) -> bool:
    return is_secret_value(NamedValue(value, NameStrength.PASSWORD, quoted=True, ends_clause=True))


def _is_header_credential(value: str, has_scheme: bool) -> bool:
    if has_scheme:
        return len(value) >= 6 and _is_credential(value)
    return len(value) >= 8 and any(c.isdigit() for c in value) and _is_credential(value)


def _is_userinfo_secret(userinfo: str) -> bool:
    user, colon, password = userinfo.partition(":")
    if not colon:
        return MASK not in user and (looks_random(user) or (len(user) >= 10 and any(c.isdigit() for c in user)))
    if MASK in password or password.startswith(("$", "{", "<", "%", "[")) or set(password) <= set("*x.X"):
        return False
    return bool(password) and not password.startswith("//")


def _is_query_secret(name: str, value: str) -> bool:
    if name.lower() in _QUERY_ONLY_NAMES:
        return len(value) >= 6 and any(c.isdigit() for c in value) and _is_credential(value) and not value.isdigit()
    strength = name_strength(name)
    if strength is NameStrength.NONE:
        return False
    return is_secret_value(NamedValue(value, strength, quoted=True, ends_clause=True))
