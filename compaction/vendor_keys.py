"""Keys of known vendors: formats that are secrets wherever they stand, whatever the text around them says.

A format is a literal prefix and the shape of what follows. Every pattern begins with its literal, so a text without
the literal is passed over at the speed of a substring search; the character before the literal is checked right after
it, which keeps a long run of repeated prefixes from being read again at each of them (time stays linear).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

_WORD: Final = "[A-Za-z0-9]"
_TOKEN: Final = "[A-Za-z0-9_-]"
_HEX: Final = "[0-9a-fA-F]"
_BASE64: Final = "[A-Za-z0-9+/_=-]"

# Bodies that people write to show a format: sk-xxxxxxxx, ghp_********.
_SHOWN_BODY: Final = re.compile(r"^[^xX*.]{0,24}[xX*.\-_]{8,}$")
_LONG_RUN: Final = re.compile(r"[A-Za-z0-9]{12}")


@dataclass(frozen=True, slots=True)
class VendorKey:
    """One format.

    hint: a literal that every key of the format holds. pattern: begins with a literal; group 1, when there is one, is
    the secret, otherwise the match is. reach: characters of the key before the match. accepts: a last look at it.
    """

    label: str
    hint: str
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool] = bool
    reach: int = 0


@dataclass(frozen=True, slots=True)
class FoundKey:
    """Where a key stands in a text."""

    start: int
    end: int
    label: str


def find_vendor_keys(text: str) -> Iterator[FoundKey]:
    """All keys of known formats in `text`; they may overlap. Linear in the length of the text."""
    for key in VENDOR_KEYS:
        if key.hint in text:
            yield from _find(key, text)


def _find(key: VendorKey, text: str) -> Iterator[FoundKey]:
    group = 1 if key.pattern.groups else 0
    for match in key.pattern.finditer(text):
        start, end = match.start(group) - key.reach, match.end(group)
        found = text[start:end]
        if key.accepts(found) and not _SHOWN_BODY.match(found):
            yield FoundKey(start, end, key.label)


def _has_long_run(found: str) -> bool:
    # Class names and package names share the prefix "sk-", but their words are short.
    return _LONG_RUN.search(found) is not None


def _has_digit(found: str) -> bool:
    return any(character.isdigit() for character in found)


def _is_mixed(found: str) -> bool:
    return _has_digit(found) and found.lower() != found and found.upper() != found


def _key(label: str, prefix: str, body: str, accepts: Callable[[str], bool] = bool, before: str = _WORD) -> VendorKey:
    literal = re.escape(prefix)
    edge = _edge(before, literal)
    return VendorKey(label, prefix, re.compile(literal + edge + body), accepts)


def _edge(before: str, literal: str) -> str:
    # A letter before a key may be the end of an escape: "\\nghp_…" in JSON, "%3Dghp_…" in a URL.
    return rf"(?:(?<!{before}{literal})|(?<=\\[nrtbf]{literal})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{literal}))"


def _keys(label: str, prefixes: str, body: str) -> tuple[VendorKey, ...]:
    return tuple(_key(label, prefix, body) for prefix in prefixes.split())


def _behind(label: str, middle: str, before: str, count: int, after: str) -> VendorKey:
    """A format whose literal stands inside: exactly `count` characters `before` it, and what comes `after`."""
    literal = re.escape(middle)
    edge = f"(?<={before}{{{count}}}{literal})" + _edge(before, f"{before}{{{count}}}{literal}")
    return VendorKey(label, middle, re.compile(literal + edge + after), reach=count)


def _exactly(characters: str, count: int) -> str:
    return f"{characters}{{{count}}}(?![A-Za-z0-9])"


_AT_LEAST_16: Final = f"{_TOKEN}{{16,}}"
_PLAIN_20: Final = f"{_WORD}{{20,}}"
_UUID: Final = "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"

_MODELS: Final = (
    _key("openai", "sk-", f"{_TOKEN}{{16,}}", _has_long_run),
    _key("openai", "sess-", f"{_WORD}{{40,}}"),
    _key("anthropic", "sk-ant-", f"{_TOKEN}{{20,}}"),
    _key("google", "AIza", f"{_TOKEN}{{30,}}"),
    _key("google_oauth", "ya29.", f"{_TOKEN}{{20,}}"),
    _key("google_oauth", "GOCSPX-", f"{_TOKEN}{{20,}}"),
    _key("google_oauth", "1//0", f"{_TOKEN}{{30,}}"),
    _key("hugging_face", "hf_", _PLAIN_20),
    _key("hugging_face", "api_org_", _PLAIN_20),
    _key("groq", "gsk_", _PLAIN_20),
    _key("xai", "xai-", f"{_TOKEN}{{20,}}", _has_long_run),
    _key("perplexity", "pplx-", _PLAIN_20),
    _key("replicate", "r8_", _PLAIN_20),
    _key("cerebras", "csk-", _PLAIN_20),
    _key("nvidia", "nvapi-", f"{_TOKEN}{{20,}}"),
    _key("elevenlabs", "sk_", f"{_HEX}{{40,}}"),
    _key("fireworks", "fw_", f"{_WORD}{{20,32}}(?![A-Za-z0-9_])", _is_mixed),
    _key("together", "tgp_v1_", _AT_LEAST_16),
    _key("pinecone", "pcsk_", f"{_TOKEN}{{20,}}"),
    _key("tavily", "tvly-", f"{_TOKEN}{{16,}}"),
    _key("jina", "jina_", f"{_TOKEN}{{30,}}"),
    _key("voyage", "pa-", f"{_TOKEN}{{40,}}", _is_mixed, before=_TOKEN),
    _key("firecrawl", "fc-", _exactly(_HEX, 32), before=_TOKEN),
    _key("langsmith", "lsv2_pt_", _AT_LEAST_16),
    _key("langsmith", "lsv2_sk_", _AT_LEAST_16),
    _key("weights_and_biases", "wandb_v1_", _AT_LEAST_16),
    _key("anyscale", "esecret_", _PLAIN_20),
    _behind("zhipu", ".", "[0-9a-f]", 32, "[A-Za-z0-9]{16}(?![A-Za-z0-9.])"),
)

_CLOUDS: Final = (
    *_keys("aws", "AKIA ASIA AROA AIDA AGPA ANPA ANVA ABIA ACCA", _exactly("[A-Z0-9]", 16)),
    _key("aws_session", "FwoGZXIvYXdz", f"{_BASE64}{{40,}}"),
    _key("aws_session", "IQoJb3JpZ2lu", f"{_BASE64}{{40,}}"),
    _key("aws_bedrock", "ABSK", f"{_BASE64}{{60,}}"),
    _key("aws_bedrock", "bedrock-api-key-", f"{_BASE64}{{20,}}"),
    _behind("azure", "JQQJ9", _WORD, 52, f"{_WORD}{{20,}}"),
    _behind("azure_devops", "AZDO", _WORD, 76, _exactly(_WORD, 4)),
    # A dot may be part of the key or end the sentence it stands in.
    VendorKey(
        "azure_client", "Q~", re.compile(r"Q~(?<=[\w.~-]{3}\dQ~)[\w.~-]{31,34}(?![\w~-]|\.[\w~-])", re.ASCII), reach=4
    ),
    *_keys("digitalocean", "dop_v1_ doo_v1_ dor_v1_", _AT_LEAST_16),
    _key("cloudflare", "v1.0-", f"{_HEX}{{24}}-{_HEX}{{100,}}"),
    *_keys("cloudflare", "cfut_ cfat_ cfk_", _PLAIN_20),
    _key("heroku", "HRKU-", f"{_TOKEN}{{20,}}"),
    *_keys("fly", "fo1_ fm1r_ fm1a_ fm2_", f"{_BASE64}{{30,}}"),
    _key("alibaba", "LTAI", f"{_WORD}{{12,30}}(?![A-Za-z0-9])", _is_mixed),
    _key("tencent", "AKID", f"{_WORD}{{24,40}}(?![A-Za-z0-9])", _is_mixed),
    _key("yandex", "AQVN", f"{_TOKEN}{{30,}}"),
    _key("yandex", "y0_", f"{_TOKEN}{{40,}}"),
    _key("scaleway", "SCW", f"{_WORD}{{17}}(?![A-Za-z0-9])", _is_mixed),
    _key("netlify", "nfp_", _PLAIN_20),
    _key("render", "rnd_", _PLAIN_20),
    _key("vercel", "vercel_blob_rw_", _AT_LEAST_16),
    *_keys("vercel", "vcp_ vck_ vca_ vci_ vcr_", _PLAIN_20),
    _key("neon", "napi_", _PLAIN_20),
    *_keys("planetscale", "pscale_tkn_ pscale_pw_ pscale_oauth_", _AT_LEAST_16),
    *_keys("supabase", "sbp_ sb_secret_", _PLAIN_20),
    _key("pulumi", "pul-", _exactly(_HEX, 40), before=_TOKEN),
    _behind("terraform", ".atlasv1.", _WORD, 14, "[A-Za-z0-9_=-]{40,}"),
    *_keys("vault", "hvs. hvb. hvr.", f"{_TOKEN}{{20,}}"),
    _key("vault", "s.", f"{_WORD}{{24}}(?![A-Za-z0-9_.(])", _is_mixed),
    _key("tailscale", "tskey-", f"{_TOKEN}{{12,}}"),
    _key("databricks", "dapi", f"{_HEX}{{32}}(?:-\\d)?(?![A-Za-z0-9])"),
    *_keys("prefect", "pnu_ pnb_", _PLAIN_20),
)

_CODE_HOSTS: Final = (
    *_keys("github", "ghp_ gho_ ghu_ ghs_ ghr_", _PLAIN_20),
    _key("github_fine_grained", "github_pat_", f"{_TOKEN}{{16,}}"),
    *_keys(
        "gitlab",
        "glpat- gloas- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- glffct- glwt-",
        "[A-Za-z0-9_.-]{16,}",
    ),
    _key("gitlab", "GR1348941", f"{_TOKEN}{{16,}}"),
    _key("bitbucket", "ATBB", f"{_WORD}{{28,}}"),
    *_keys("atlassian", "ATATT3 ATCTT3", f"{_BASE64}{{40,}}"),
    _key("npm", "npm_", _PLAIN_20),
    _key("pypi", "pypi-", f"{_TOKEN}{{40,}}"),
    _key("rubygems", "rubygems_", f"{_HEX}{{40,}}"),
    _key("crates", "cio", _exactly(_WORD, 32), _is_mixed),
    *_keys("docker", "dckr_pat_ dckr_oat_", _AT_LEAST_16),
    _key("jfrog", "AKCp", f"{_WORD}{{60,}}"),
    *_keys("circleci", "CCIPAT_ CCIPRJ_", f"{_TOKEN}{{16,}}"),
    *_keys("buildkite", "bkua_ bkat_ bkct_", _PLAIN_20),
    _key("nuget", "oy2", _exactly("[a-z0-9]", 43)),
    _key("age", "AGE-SECRET-KEY-1", "[A-Z0-9]{20,}"),
    _key("onepassword", "ops_eyJ", f"{_BASE64}{{40,}}"),
    *_keys("doppler", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", "[A-Za-z0-9._-]{20,}"),
    _key("snyk", "snyk_", "[A-Za-z0-9._-]{24,}", _has_digit),
    _key("postman", "PMAK-", f"{_HEX}{{24}}-{_HEX}{{34}}"),
    _key("figma", "figd_", f"{_TOKEN}{{20,}}"),
    _key("readme", "rdme_", _PLAIN_20),
)

_MESSAGING: Final = (
    *_keys("slack", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxc- xoxd- xoxe.", "[A-Za-z0-9%._-]{10,}"),
    _key("slack", "xapp-", f"{_TOKEN}{{16,}}"),
    _key("slack_webhook", "hooks.slack.com/", "(?:services|workflows|triggers)/([A-Za-z0-9+/]{20,})"),
    VendorKey("telegram", ":AA", re.compile(r":(?<=\d{8}:)(AA[A-Za-z0-9_-]{30,})")),
    # The first part is the base64 of a number, so it begins with M, N or O.
    *(
        _behind("discord", ".", "[A-Za-z0-9_-]", length, r"[\w-]{6}\.[\w-]{27,45}(?![\w-]|\.[\w-])")
        for length in (24, 26, 28)
    ),
    _key("discord", "mfa.", f"{_TOKEN}{{60,}}"),
    VendorKey("discord_webhook", "/api/webhooks/", re.compile(r"/api/webhooks/\d{15,22}/([A-Za-z0-9_-]{40,})")),
    _key("twilio", "SK", _exactly(_HEX, 32)),
    _key("twilio", "AC", _exactly("[0-9a-f]", 32)),
    _key("sendgrid", "SG.", f"{_TOKEN}{{16,}}\\.{_TOKEN}{{16,}}"),
    _key("mailgun", "key-", _exactly(_HEX, 32), before=_TOKEN),
    _behind("mailchimp", "-us", "[0-9a-f]", 32, r"\d{1,2}(?![A-Za-z0-9])"),
    *_keys("brevo", "xkeysib- xsmtpsib-", f"{_TOKEN}{{40,}}"),
    _key("resend", "re_", f"{_WORD}{{8}}_{_WORD}{{20,}}"),
    VendorKey(
        "teams_webhook", ".webhook.office.com/", re.compile(r"\.webhook\.office\.com/webhookb2/([^\s\"'<>]{30,})")
    ),
)

_PRODUCTS: Final = (
    *_keys("stripe", "sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_ whsec_ sk_prod_", f"{_WORD}{{16,}}"),
    *_keys("square", "sq0atp- sq0csp- sq0idp-", f"{_TOKEN}{{16,}}"),
    _key("square", "EAAA", f"{_TOKEN}{{50,}}"),
    _key("facebook", "EAACEdEose0cBA", f"{_WORD}{{10,}}"),
    *_keys("shopify", "shpat_ shpca_ shppa_ shpss_ shpua_ shptka_", f"{_WORD}{{20,}}"),
    *_keys("easypost", "EZAK EZTK", _exactly(_WORD, 54)),
    *_keys("flutterwave", "FLWSECK_TEST- FLWSECK- FLWPUBK-", f"{_TOKEN}{{16,}}"),
    *_keys("plaid", "access-sandbox- access-development- access-production-", _UUID),
    *_keys("notion", "secret_ ntn_", f"{_WORD}{{40,}}"),
    *_keys("linear", "lin_api_ lin_oauth_ lin_wh_", _PLAIN_20),
    _key("airtable", "pat", f"{_WORD}{{14}}\\.{_HEX}{{40,}}"),
    *_keys("asana", "0/ 1/ 2/", r"\d{16}(?:/\d{16})?:[0-9a-f]{32}(?![0-9a-f])"),
    _key("hubspot", "pat-", f"(?:na|eu)\\d-{_UUID}"),
    _key("typeform", "tfp_", f"{_TOKEN}{{30,}}"),
    *_keys("grafana", "glsa_ glc_", "[A-Za-z0-9_+/=]{24,}"),
    *_keys("sentry", "sntrys_ sntryu_", f"{_BASE64}{{24,}}"),
    *_keys("datadog", "ddapp_ ddapi_ ddpat_", _PLAIN_20),
    *_keys("new_relic", "NRAK- NRJS- NRII- NRRA- NRIQ-", f"{_TOKEN}{{16,}}"),
    *_keys("dynatrace", "dt0a01. dt0c01. dt0s01. dt0s02. dt0s16.", r"[A-Z0-9]{8,24}\.[A-Z0-9]{40,}"),
    *_keys("posthog", "phx_ phs_ phc_", f"{_WORD}{{30,}}"),
    *_keys("launchdarkly", "sdk- mob-", _UUID),
    _key("contentful", "CFPAT-", f"{_TOKEN}{{20,}}"),
    _key("dropbox", "sl.", f"{_TOKEN}{{80,}}"),
    _key("frameio", "fio-u-", f"{_TOKEN}{{30,}}"),
    _key("infracost", "ico-", f"{_WORD}{{32,}}"),
    _key("adafruit", "aio_", f"{_WORD}{{24,}}"),
    *_keys("shippo", "shippo_live_ shippo_test_", _PLAIN_20),
)

_TOKENS: Final = (
    # Head and body of a JWT are base64 of "{"; the signature may have been cut off.
    _key("jwt", "eyJ", f"{_TOKEN}{{8,}}\\.{_TOKEN}{{8,}}(?:\\.{_TOKEN}*){{0,3}}", before=_TOKEN),
    VendorKey("password_hash", "$2", re.compile(r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}")),
    VendorKey("password_hash", "$argon2", re.compile(r"\$argon2(?:id|i|d)\$[\w$=,+/]{30,400}", re.ASCII)),
    VendorKey("password_hash", "pbkdf2_", re.compile(r"pbkdf2_sha\d{1,3}\$\d{1,9}\$[\w+/=$.]{20,200}", re.ASCII)),
    VendorKey("password_hash", "$6$", re.compile(r"\$6\$(?:rounds=\d{1,9}\$)?[./\w]{1,16}\$[./\w]{60,90}", re.ASCII)),
)

VENDOR_KEYS: Final = (*_MODELS, *_CLOUDS, *_CODE_HOSTS, *_MESSAGING, *_PRODUCTS, *_TOKENS)
