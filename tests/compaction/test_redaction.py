"""Redaction: every secret goes, everything else stays, whatever the text."""

from __future__ import annotations

import gc
import json
import random
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.messages import ImagePart, Message, OtherPart, Role, TextPart, ToolCall
from compaction.redaction import MASK, redact, redact_message

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "_-"
UPPER = string.ascii_uppercase + string.digits

# vendor -> what stands before the secret, the parts of the secret (alphabet and length, or literal), what stands after
VENDOR_SHAPES = {
    "openai": ("sk-", [(ALNUM, 48)], ""),
    "openai project": ("sk-proj-", [(URLSAFE, 120), (ALNUM, 16)], ""),
    "anthropic": ("sk-ant-api03-", [(URLSAFE, 93), (ALNUM, 2)], ""),
    "openrouter": ("sk-or-v1-", [(HEX, 64)], ""),
    "aws access key": ("AKIA", [(UPPER, 16)], ""),
    "aws temporary key": ("ASIA", [(UPPER, 16)], ""),
    "google": ("AIza", [(URLSAFE, 35)], ""),
    "google oauth": ("GOCSPX-", [(URLSAFE, 28)], ""),
    "azure client": ("a1b8Q~", [(ALNUM, 34)], ""),
    "azure storage": ("AccountName=a;AccountKey=", [(ALNUM, 86)], "=="),
    "github classic": ("ghp_", [(ALNUM, 36)], ""),
    "github app": ("ghs_", [(ALNUM, 36)], ""),
    "github fine-grained": ("github_pat_", [(ALNUM, 22), "_", (ALNUM, 59)], ""),
    "gitlab": ("glpat-", [(URLSAFE, 20)], ""),
    "slack bot": ("xoxb-", [(string.digits, 12), "-", (ALNUM, 24)], ""),
    "slack app": ("xapp-1-A", [(UPPER, 10), "-", (HEX, 64)], ""),
    "slack webhook": ("https://hooks.slack.com/services/", [(UPPER, 9), "/", (UPPER, 11), "/", (ALNUM, 24)], ""),
    "stripe": ("sk_live_", [(ALNUM, 24)], ""),
    "stripe restricted": ("rk_test_", [(ALNUM, 99)], ""),
    "stripe webhook": ("whsec_", [(ALNUM, 32)], ""),
    "twilio": ("SK", [(HEX, 32)], ""),
    "sendgrid": ("SG.", [(URLSAFE, 22), ".", (URLSAFE, 43)], ""),
    "hugging face": ("hf_", [(ALNUM, 34)], ""),
    "npm": ("npm_", [(ALNUM, 36)], ""),
    "pypi": ("pypi-AgEIcHlwaS5vcmc", [(URLSAFE, 120)], ""),
    "digitalocean": ("dop_v1_", [(HEX, 64)], ""),
    "telegram": ("123456789:AA", [(URLSAFE, 33)], ""),
    "discord": ("MT", [(ALNUM, 22), ".", (URLSAFE, 6), ".", (URLSAFE, 38)], ""),
    "discord webhook": ("https://discord.com/api/webhooks/122555741785369978/", [(URLSAFE, 68)], ""),
    "notion": ("ntn_", [(ALNUM, 46)], ""),
    "linear": ("lin_api_", [(ALNUM, 40)], ""),
    "shopify": ("shpat_", [(HEX, 32)], ""),
    "square": ("sq0atp-", [(URLSAFE, 22)], ""),
    "mailgun": ("key-", [(HEX, 32)], ""),
    "mailchimp": ("", [(HEX, 32)], "-us12"),
    "datadog": ("DD_API_KEY=", [(HEX, 32)], ""),
    "grafana": ("glsa_", [(ALNUM, 32), "_", (HEX, 8)], ""),
    "sentry": ("sntryu_", [(HEX, 64)], ""),
    "vault": ("hvs.", [(URLSAFE, 95)], ""),
    "databricks": ("dapi", [(HEX, 32)], ""),
    "groq": ("gsk_", [(ALNUM, 52)], ""),
    "xai": ("xai-", [(ALNUM, 80)], ""),
    "perplexity": ("pplx-", [(ALNUM, 48)], ""),
    "replicate": ("r8_", [(ALNUM, 37)], ""),
    "cloudflare": ("CLOUDFLARE_API_TOKEN=", [(ALNUM, 40)], ""),
    "heroku": ("HRKU-", [(URLSAFE, 60)], ""),
    "airtable": ("pat", [(ALNUM, 14), ".", (HEX, 64)], ""),
    "atlassian": ("ATATT3xFfGF0", [(URLSAFE, 170)], ""),
    "docker": ("dckr_pat_", [(URLSAFE, 27)], ""),
    "new relic": ("NRAK-", [(UPPER, 27)], ""),
    "postman": ("PMAK-", [(HEX, 24), "-", (HEX, 34)], ""),
    "supabase": ("sbp_", [(HEX, 40)], ""),
    "terraform": ("", [(ALNUM, 14), ".atlasv1.", (URLSAFE, 67)], ""),
    "jwt": ("eyJ", [(URLSAFE, 30), ".eyJ", (URLSAFE, 80), ".", (URLSAFE, 43)], ""),
}

SURROUNDINGS = (
    "{}",
    "the key is {} and it works",
    '"{}"',
    "curl -H 'Authorization: Bearer {}' https://host.example",
    "export SOMETHING={}\n",
    '{{"a": "{}"}}',
    "x={}&b=1",
    "(`{}`)",
    '"out\\n{}\\nnext"',
    "密钥{}，请保密",
    "[{}]",
    "https://host.example/p?q=%3D{}",
    "The key is {}. It works.",
)


def generate(parts, chance):
    return "".join(part if isinstance(part, str) else "".join(chance.choices(part[0], k=part[1])) for part in parts)


def longest_piece(secret):
    return max("".join(c if c.isalnum() else " " for c in secret).split(), key=len)


@pytest.mark.parametrize("vendor", VENDOR_SHAPES)
def test_keys_of_a_vendor_are_masked_wherever_they_stand(vendor):
    chance = random.Random(vendor)
    before, parts, after = VENDOR_SHAPES[vendor]
    for surrounding in SURROUNDINGS:
        secret = generate(parts, chance)
        redacted = redact(surrounding.format(before + secret + after)).text
        assert MASK in redacted
        assert longest_piece(secret) not in redacted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz", f"Authorization: Bearer {MASK}"),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: Basic {MASK}"),
        ("Proxy-Authorization: Basic dXNlcjpwYXNz", f"Proxy-Authorization: Basic {MASK}"),
        ("X-Api-Key: 0123456789abcdef", f"X-Api-Key: {MASK}"),
        ("Set-Cookie: sid=abcdef123456; Path=/", f"Set-Cookie: sid={MASK}; Path=/"),
        ("postgresql://user:s3cret@db:5432/x", f"postgresql://{MASK}@db:5432/x"),
        ("redis://:hunter2@localhost:6379/0", f"redis://{MASK}@localhost:6379/0"),
        ("https://bob:p%40ss@host.example/x", f"https://{MASK}@host.example/x"),
        ("https://ghtoken12345@github.com/a/b", f"https://{MASK}@github.com/a/b"),
        ("https://h.example/v1?api_key=abcdef123456&x=1", f"https://h.example/v1?api_key={MASK}&x=1"),
        ("https://h.example/?sv=2022&sig=aB3%2Fd9", f"https://h.example/?sv=2022&sig={MASK}"),
        ("jdbc:mysql://h/db?user=x&password=y123", f"jdbc:mysql://h/db?user=x&password={MASK}"),
        ("Server=x;User Id=sa;Password=Pa$$w0rd;", f"Server=x;User Id=sa;Password={MASK};"),
        ("export DB_PASSWORD='p@ss w0rd'", f"export DB_PASSWORD='{MASK}'"),
        ("db:\n  password: swordfish\n", f"db:\n  password: {MASK}\n"),
        ("- name: DB_PASSWORD\n  value: hunter2", f"- name: DB_PASSWORD\n  value: {MASK}"),
        ('{"password": "hunter2", "user": "bob"}', f'{{"password": "{MASK}", "user": "bob"}}'),
        ('{\\"api_key\\": \\"abcdef1234567890\\"}', f'{{\\"api_key\\": \\"{MASK}\\"}}'),
        ("{'API_KEY': 'opaque-value'}", f"{{'API_KEY': '{MASK}'}}"),
        ('os.environ["API_KEY"] = "abcdef12345"', f'os.environ["API_KEY"] = "{MASK}"'),
        ("password: hunter22", f"password: {MASK}"),
        ("my password is hunter22, don't tell", f"my password is {MASK}, don't tell"),
        ("user: bob password: hunter2 ok", f"user: bob password: {MASK} ok"),
        ("I have password=foo here", f"I have password={MASK} here"),
        ("数据库密码是 hunter22。", f"数据库密码是 {MASK}。"),
        ("密码：a#1&b2^c3", f"密码：{MASK}"),
        ("mysql -u root -pS3cret db", f"mysql -u root -p{MASK} db"),
        ("curl -u admin:s3cret https://x.example", f"curl -u admin:{MASK} https://x.example"),
        ("tool --password hunter2 run", f"tool --password {MASK} run"),
        ("<password>hunter2</password>", f"<password>{MASK}</password>"),
        ("PGPASSWORD=foo psql", f"PGPASSWORD={MASK} psql"),
        ("openai_key=abcdef1234567890abcdef", f"openai_key={MASK}"),
        ("sk-abcdefgh\u200bijklmnopqrstuv", MASK),
        ("key sk-abcdefghijklmnopqrstuvwx.", f"key {MASK}."),
        ("AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", f"{MASK} {MASK}"),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\nab==\n-----END RSA PRIVATE KEY-----\nb", f"a\n{MASK}\nb"),
        ("-----BEGIN PRIVATE KEY-----\\nMIIEpAIB\\n-----END PRIVATE KEY-----", MASK),
        ("-----BEGIN PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA1234\n" * 3 + "[cut]", f"{MASK}\n[cut]"),
    ],
)
def test_a_secret_is_masked_and_nothing_around_it(text, expected):
    assert redact(text).text == expected


def generated_look_alikes():
    chance = random.Random(200)
    for _ in range(10):
        uuid = "-".join(generate([(HEX, length)], chance) for length in (8, 4, 4, 4, 12))
        yield from (
            generate(["commit ", (HEX, 40)], chance),
            generate([(HEX, 7), " fix the parser"], chance),
            generate(["sha256:", (HEX, 64)], chance),
            generate(["md5 ", (HEX, 32), "  file.tar"], chance),
            f"id {uuid}",
            f'"session": "{uuid}"',
            generate(["/home/ada/src/m", (HEX, 3), "/a.py"], chance),
            generate(["~/.ssh/id_", (string.ascii_lowercase, 5), ".pub"], chance),
            generate(["MAX_TOKENS=", ("123456789", 4)], chance),
            generate(["max_tokens: ", ("123456789", 4)], chance),
            generate(["tokens: ", ("123456789", 4)], chance),
            generate(['"total_tokens": ', ("123456789", 6), ","], chance),
            generate(["data:image/png;base64,", (ALNUM + "+/", 400), "=="], chance),
            generate(['"integrity": "sha512-', (ALNUM + "+/", 86), '=="'], chance),
            generate(['etag: W/"', (HEX, 20), '"'], chance),
        )


LOOK_ALIKES = (
    "password: <your password>",
    "API_KEY=<your-key>",
    "API_KEY=${API_KEY}",
    "API_KEY=$API_KEY",
    "password: ****",
    'api_key=os.environ["API_KEY"]',
    "KEY=os.getenv('X')",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "API_KEY=your-api-key",
    "export OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    'API_KEY="sk-..."',
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "password: string;",
    "token: string | null",
    "password=password",
    "token = get_token()",
    "self.password = password",
    "api_key=settings.API_KEY",
    'input("Password: ")',
    'print("token:", token)',
    'f"token={token}"',
    "def check(password: str) -> bool:",
    'pad_token="<pad>"',
    "password must contain 8 characters",
    "The password: please choose a strong one",
    "note: secret meeting",
    "the token was rejected",
    "the key is 4096 bits long",
    "password is base64-encoded",
    '"token": null',
    "PWD=/home/ada",
    "SSH_AUTH_SOCK=/run/user/1000/agent.sock",
    "private_key=/etc/ssl/private/server.key",
    "password_file: /run/secrets/db",
    "token_type=bearer",
    "primary_key=True",
    'cache_key="user:1234567890abcdef1234"',
    'next_token: "abc123def456ghi789"',
    "git@github.com:ada/engine.git",
    "ssh://git@github.com/ada/engine.git",
    "postgresql://postgres@127.0.0.1:5432/db",
    "https://example.org/a/b?page=2&sort=key",
    "sk-abc",
    "sk-circle-fade-dot and sk-learn-contrib",
    "docker run -u 1000:1000 image",
    "npm_config_registry=https://registry.example/",
    "hf_hub_download_something_long_name",
    "tests pass: 12, fail: 3",
    "credentials: 'same-origin'",
    '"author": "abc123def456"',
    "public_key=ssh-rsa",
)


def test_none_of_two_hundred_look_alikes_is_masked():
    texts = [*generated_look_alikes(), *LOOK_ALIKES]
    assert len(texts) >= 200
    assert [text for text in texts if redact(text).count] == []


def test_spans_name_each_mask_in_the_redacted_text():
    redaction = redact("password=hunter22 and sk-abcdefghijklmnopqrstuvwx")
    assert redaction.count == 2
    assert [redaction.text[span.start : span.end] for span in redaction.spans] == [MASK, MASK]
    assert [span.label for span in redaction.spans] == ["assignment", "openai"]


PIECES = st.sampled_from(
    [
        "password",
        "token",
        "api_key",
        "=",
        ":",
        " ",
        '"',
        "'",
        "\\",
        "\n",
        "hunter22",
        "sk-",
        "AKIA",
        "IOSFODNN7EXAMPLE",
        "eyJhbGciOi",
        ".eyJzdWIiOiIx",
        "Bearer ",
        "Authorization: ",
        "dXNlcjpwYXNz",
        "://",
        "@",
        "user",
        "&",
        "?",
        "ghp_",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "a" * 20,
        "0123456789abcdef",
        "密码",
        "是",
        "\u200b",
        MASK,
        "[",
        "REDACTED",
        "<",
        "/",
        "${X}",
        "abc123",
        "value",
        "--",
        "is ",
        "-p",
        "mysql ",
        "curl -u a:",
        "cookie: ",
        "İ",
        "data:image/png;base64,",
        ",",
        "{",
        "}",
        "key",
        '"""',
        "%3D",
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES | st.text(max_size=4), max_size=14).map("".join))
def test_redacting_twice_changes_nothing(text):
    once = redact(text)
    assert redact(once.text).text == once.text
    assert all(once.text[span.start : span.end] == MASK for span in once.spans)


def call(arguments):
    return Message(Role.ASSISTANT, "", (ToolCall("c1", "terminal", arguments),))


def test_arguments_that_are_json_stay_json():
    arguments = json.dumps(
        {
            "command": "export TOKEN=abcd1234efgh\ncurl https://u:p4ss@h.example",
            "env": {"DB_PASSWORD": 'hunter "2"', "PORT": 8080},
            "argv": ["--password", "hunter22", "--verbose"],
            "admin_password": 123456,
            "body": json.dumps({"api_key": "abcdef123456"}),
        }
    )
    assert json.loads(redact_message(call(arguments)).tool_calls[0].arguments) == {
        "command": f"export TOKEN={MASK}\ncurl https://{MASK}@h.example",
        "env": {"DB_PASSWORD": MASK, "PORT": 8080},
        "argv": ["--password", MASK, "--verbose"],
        "admin_password": MASK,
        "body": json.dumps({"api_key": MASK}),
    }


def test_arguments_that_are_not_json_are_redacted_as_text():
    assert redact_message(call("password=hunter22 {")).tool_calls[0].arguments == f"password={MASK} {{"


def test_a_message_without_secrets_is_returned_as_it_is():
    message = Message(Role.USER, (TextPart("see"), ImagePart('{"url": "data:image/png;base64,AAAA"}')))
    assert redact_message(message) is message


def test_parts_and_reasoning_are_redacted():
    message = Message(
        Role.ASSISTANT,
        (TextPart("password=hunter22"), OtherPart("file", '{"token": "abcdef123456"}')),
        reasoning="the password is hunter22",
    )
    redacted = redact_message(message)
    assert redacted.content == (TextPart(f"password={MASK}"), OtherPart("file", f'{{"token": "{MASK}"}}'))
    assert redacted.reasoning == f"the password is {MASK}"


def test_x07_made_up_secrets_of_a_transcript_and_of_an_old_summary_are_all_masked():
    old_summary = "[CONTEXT SUMMARY - REFERENCE ONLY]\nold summary with api_key=FAKE-oldmarker-000111222333\n[END]"
    arguments = '{"command":"curl -H \'Authorization: Bearer FAKEtoken.aaa.bbb\' x"}'
    result = (
        "DATABASE_URL=postgres://bob:FAKEpass@db.example/x\nsk-FAKE0000000000000000000000\n"
        "-----BEGIN PRIVATE KEY-----\nRkFLRQ==\n-----END PRIVATE KEY-----"
    )
    texts = (redact(old_summary).text, redact_message(call(arguments)).tool_calls[0].arguments, redact(result).text)
    assert not any(word in text for text in texts for word in ("FAKE", "RkFLRQ"))
    assert texts[0] == f"[CONTEXT SUMMARY - REFERENCE ONLY]\nold summary with api_key={MASK}\n[END]"


def test_x09_a_secret_is_masked_and_counted_and_never_raises():
    assert redact("token=abcd1234efgh " * 3).count == 3
    assert redact("\ud800 password=hunter22").text == f"\ud800 password={MASK}"


HOSTILE = (
    "password: ",
    "key=",
    "eyJ",
    "://a@",
    "sk-",
    "-----BEGIN PRIVATE KEY-----",
    "密码是",
    '"password": "a\\"',
    "a",
    "\\",
)


def seconds_for(unit, size):
    text = unit * (size // len(unit))
    gc.collect()
    runs = []
    for _ in range(3):
        start = time.process_time()
        redact(text)
        runs.append(time.process_time() - start)
    return min(runs)


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_linearly_with_hostile_text(unit):
    # Ten times the text takes about ten times as long; what grew with the square would take a hundred times.
    assert seconds_for(unit, 400_000) < 40 * max(seconds_for(unit, 40_000), 0.004)
