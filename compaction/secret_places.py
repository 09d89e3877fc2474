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
_PEM_BODY: Final = re.compile(r"(?:[A-Za-z0-9+/=]+|\\[nr]|[\r\n]+[ \t>+|-]{0,8}|[A-Z][A-Za-z-]+: [^\r\n\\]{0,120})*")
_PEM_MAX_CHARACTERS: Final = 20_000

_HEADER: Final = re.compile(
    rf"(?i:authorization)(?:{_QUOTE})?\]?\s{{0,4}}[:=,]\s{{0,4}}(?:{_QUOTE})?"
    r"(?:(?i:bearer|basic|token|digest|apikey|api-key|negotiate|bot|splunk|sso-key|key)(?:\s{1,4}|%20|=))?"
    r"([^\s\"'`\\,;<>(){}]{3,})"
)
_BEARER: Final = re.compile(r"(?i:bearer)(?:\s{1,4}|%20)([A-Za-z0-9._~+/=-]{8,})")
_COOKIE: Final = re.compile(
    rf"(?i:cookie)(?:{_QUOTE})?\s{{0,2}}:\s{{0,2}}(?:{_QUOTE})?([\w.-]{{1,64}}=[^\r\n\"'`<>]{{4,4096}})"
)
_COOKIE_PAIR: Final = re.compile(r"([\w.-]{1,64})=([^;\s]{8,})")

_USERINFO: Final = re.compile(r"://([^\s/?#\"'`<>\\]{1,512})@(?=[\w\[{$%.-])")
_QUERY: Final = re.compile(r"[?&;](?:amp;)?([A-Za-z_][A-Za-z0-9_.\-]{0,40})=([^&\s\"'`<>#\\)\]}]{1,4096})")
_QUERY_ONLY_NAMES: Final = frozenset({
    "key", "sig", "signature", "code", "auth", "x-amz-signature", "x-amz-credential", "x-amz-security-token",
    "x-goog-signature", "x-goog-credential", "awsaccesskeyid", "hapikey", "hmac", "sas", "ticket", "otp", "session",
    "sessionid", "sid", "jwt", "assertion", "saml", "pass", "access_key", "auth_key", "refresh", "oauth_verifier",
})  # fmt: skip

_CURL_USER: Final = re.compile(
    r"(?:curl|wget|http|httpie)\b[^\n|;]{0,300}?\s(?:-u|--user|--proxy-user|-U)[\s=]{1,2}[\"']?([^\s:\"'$]{1,64}):([^\s\"']{2,200})"
)
_SHORT_OPTION: Final = re.compile(
    r"(?:sshpass\s{1,3}-p|mysql(?:dump|admin)?\b[^\n|;]{0,200}?\s-p|docker\s{1,3}login\b[^\n|;]{0,200}?\s-p|"
    r"redis-cli\b[^\n|;]{0,200}?\s-a)\s{0,3}[\"']?([^\s\"'|;$-][^\s\"'|;]{2,200})"
)
_NETRC: Final = re.compile(r"\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(\S{3,200})")
_XML: Final = re.compile(r"<([A-Za-z][\w.:-]{2,60})>\s{0,4}([^<>\s]{3,512})\s{0,4}</")
_AWS_SECRET: Final = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])")
_AWS_ID: Final = re.compile(r"(?:AKIA|ASIA)[A-Z0-9]{16}")


def find_key_blocks(text: str) -> Iterator[FoundKey]:
    """Private keys in PEM armour, whole or cut at either end, on lines or with escaped line ends."""
    position = 0
    while begin := _PEM_BEGIN.search(text, position):
        end = _PEM_END.search(text, begin.end(), begin.end() + _PEM_MAX_CHARACTERS)
        body = _PEM_BODY.match(text, begin.end(), begin.end() + _PEM_MAX_CHARACTERS)
        stop = end.end() if end else max(begin.end(), body.end() if body else 0)
        yield FoundKey(begin.start(), stop, "private_key")
        position = stop


def find_auth_headers(text: str) -> Iterator[FoundKey]:
    """Credentials of Authorization headers, bearer tokens on their own, and cookies."""
    if "uthorization" in text or "UTHORIZATION" in text:
        for match in _HEADER.finditer(text):
            if _is_credential(match.group(1)):
                yield FoundKey(match.start(1), match.end(1), "auth_header")
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
    for match in _CURL_USER.finditer(text) if " -u" in text or "user" in text or " -U" in text else ():
        if _is_credential(match.group(2)):
            yield FoundKey(match.start(2), match.end(2), "command_option")
    for pattern, hint in ((_SHORT_OPTION, " -"), (_NETRC, "login")):
        for match in pattern.finditer(text) if hint in text else ():
            if _is_credential(match.group(1)):
                yield FoundKey(match.start(1), match.end(1), "command_option")
    for match in _XML.finditer(text) if "</" in text else ():
        strength = name_strength(match.group(1))
        if strength and is_secret_value(NamedValue(match.group(2), strength, quoted=True, ends_clause=True)):
            yield FoundKey(match.start(2), match.end(2), "assignment")


def find_aws_secrets(text: str) -> Iterator[FoundKey]:
    """The 40 characters of an AWS secret key within reach of an access key id: alone they look like anything."""
    for known in _AWS_ID.finditer(text) if "KIA" in text or "ASIA" in text else ():
        near = text[known.end() : known.end() + 300]
        for match in _AWS_SECRET.finditer(near):
            if any(c.islower() for c in match.group()) and any(c.isupper() for c in match.group()):
                yield FoundKey(known.end() + match.start(), known.end() + match.end(), "aws_secret")


def _cookie_pairs(cookie: re.Match[str]) -> Iterator[FoundKey]:
    for pair in _COOKIE_PAIR.finditer(cookie.group(1)):
        name, value = pair.group(1).lower(), pair.group(2)
        if name not in ("path", "domain", "expires", "max-age", "samesite") and _is_credential(value):
            offset = cookie.start(1)
            yield FoundKey(offset + pair.start(2), offset + pair.end(2), "cookie")


def _is_credential(value: str) -> bool:
    return is_secret_value(NamedValue(value, NameStrength.PASSWORD, quoted=True, ends_clause=True))


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
