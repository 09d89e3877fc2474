"""From settings to an endpoint, and where requests may go."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.endpoints.address import OutboundRules, Reach, reach_of
from compaction.endpoints.endpoint import Dialect, endpoint_of
from compaction.errors import InvalidPolicy
from compaction.http_summarizer import HttpSummarizer
from compaction.policy import AuxiliaryModel, CompactionPolicy


def made(**fields):
    return endpoint_of(AuxiliaryModel(**{"model": "m", **fields}))


@pytest.mark.parametrize(
    ("provider", "url", "key_env"),
    [
        ("openai", "https://api.openai.com/v1/chat/completions", "OPENAI_API_KEY"),
        ("OpenRouter", "https://openrouter.ai/api/v1/chat/completions", "OPENROUTER_API_KEY"),
        ("anthropic", "https://api.anthropic.com/v1/messages", "ANTHROPIC_API_KEY"),
        ("ollama", "http://127.0.0.1:11434/v1/chat/completions", ""),
        ("llama.cpp", "http://127.0.0.1:8080/v1/chat/completions", ""),
        ("vllm", "http://127.0.0.1:8000/v1/chat/completions", ""),
    ],
)
def test_a_known_provider_needs_no_address(provider, url, key_env):
    endpoint = made(provider=provider)
    assert (endpoint.url, endpoint.key_env) == (url, key_env)


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("http://localhost:1234", "http://localhost:1234/v1/chat/completions"),
        ("http://localhost:1234/", "http://localhost:1234/v1/chat/completions"),
        ("http://localhost:1234/v1/", "http://localhost:1234/v1/chat/completions"),
        ("http://localhost:1234/v1/chat/completions", "http://localhost:1234/v1/chat/completions"),
        ("https://x.example/openai/v1?api-version=1", "https://x.example/openai/v1/chat/completions?api-version=1"),
        ("http://[::1]:8080/v1#part", "http://[::1]:8080/v1/chat/completions"),
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://proxy.example/anthropic", "https://proxy.example/anthropic/v1/messages"),
        ("https://proxy.example/v1/messages", "https://proxy.example/v1/messages"),
    ],
)
def test_an_address_is_completed_however_it_is_written(base_url, url):
    endpoint = made(base_url=base_url)
    assert endpoint.url == url
    assert endpoint.dialect is (Dialect.ANTHROPIC if "messages" in url else Dialect.OPENAI)


def test_a_provider_s_usual_key_goes_to_its_own_address_only():
    assert made(provider="openai", base_url="https://elsewhere.example/v1").key_env == ""
    assert made(provider="openai", base_url="https://elsewhere.example/v1", key_env="A_API_KEY").key_env == "A_API_KEY"


def test_settings_are_carried_over():
    endpoint = made(provider="ollama", timeout_seconds=45, window_tokens=8_192)
    assert (endpoint.total_seconds, endpoint.window_tokens, endpoint.model) == (45.0, 8_192, "m")


def test_a_server_with_one_model_needs_no_name_for_it():
    endpoint = made(provider="llamacpp", model="")
    assert HttpSummarizer(endpoint, OutboundRules()).model == "llamacpp"
    assert made(base_url="http://host.example/v1", model="").provider == "host.example"


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({}, "auxiliary.compression.base_url: no endpoint is set"),
        ({"provider": "nobody"}, "auxiliary.compression.provider: 'nobody' is not known"),
        ({"provider": "openai", "model": ""}, "auxiliary.compression.model: name the model"),
        ({"base_url": "localhost:1234"}, "starts with http"),
        ({"base_url": "ftp://host.example"}, "starts with http"),
        ({"base_url": "http://"}, "starts with http"),
        ({"base_url": "http://host:99999"}, "not an address"),
        ({"base_url": "http://[::1"}, "not an address"),
        ({"base_url": "http://host:0"}, "starts with http"),
        ({"base_url": "http://me:secret@host.example"}, "user name or password"),
        ({"base_url": "http://ho st.example"}, "no spaces"),
        ({"base_url": "http://höst.example"}, "ASCII"),
    ],
)
def test_settings_that_name_no_endpoint_are_refused_with_the_setting(fields, complaint):
    with pytest.raises(InvalidPolicy, match=complaint) as caught:
        made(**fields)
    assert "secret" not in str(caught.value)


def test_the_settings_as_written_on_a_command_line_make_an_endpoint():
    written = [
        "auxiliary.compression.base_url=http://127.0.0.1:8080/v1",
        "auxiliary.compression.model=small",
        "auxiliary.compression.timeout=9",
    ]
    endpoint = endpoint_of(CompactionPolicy().with_settings(written).policy.auxiliary)
    assert (endpoint.url, endpoint.model, endpoint.total_seconds) == (
        "http://127.0.0.1:8080/v1/chat/completions",
        "small",
        9.0,
    )


# Where requests may go


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("93.184.215.14", Reach.PUBLIC),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", Reach.PUBLIC),
        ("127.0.0.1", Reach.LOOPBACK),
        ("127.8.8.8", Reach.LOOPBACK),
        ("::1", Reach.LOOPBACK),
        ("::ffff:127.0.0.1", Reach.LOOPBACK),
        ("10.0.0.1", Reach.PRIVATE),
        ("172.16.0.1", Reach.PRIVATE),
        ("192.168.1.1", Reach.PRIVATE),
        ("100.64.0.1", Reach.PRIVATE),
        ("fd12:3456::1", Reach.PRIVATE),
        ("fec0::1", Reach.PRIVATE),
        ("::ffff:10.0.0.1", Reach.PRIVATE),
        ("169.254.169.254", Reach.FORBIDDEN),
        ("169.254.1.1", Reach.FORBIDDEN),
        ("::ffff:169.254.169.254", Reach.FORBIDDEN),
        ("fe80::1", Reach.FORBIDDEN),
        ("fe80::1%eth0", Reach.FORBIDDEN),
        ("fd00:ec2::254", Reach.FORBIDDEN),
        ("100.100.100.200", Reach.FORBIDDEN),
        ("168.63.129.16", Reach.FORBIDDEN),
        ("0.0.0.0", Reach.FORBIDDEN),
        ("0.1.2.3", Reach.FORBIDDEN),
        ("::", Reach.FORBIDDEN),
        ("224.0.0.1", Reach.FORBIDDEN),
        ("ff02::1", Reach.FORBIDDEN),
        ("240.0.0.1", Reach.FORBIDDEN),
        ("255.255.255.255", Reach.FORBIDDEN),
        ("::127.0.0.1", Reach.FORBIDDEN),
        ("64:ff9b::7f00:1", Reach.FORBIDDEN),
        ("64:ff9b::a9fe:a9fe", Reach.FORBIDDEN),
        ("64:ff9b::5db8:d70e", Reach.PUBLIC),
        ("2002:a9fe:a9fe::1", Reach.FORBIDDEN),
        ("2002:7f00:1::1", Reach.FORBIDDEN),
    ],
)
def test_addresses_are_told_apart_by_what_they_reach(address, reach):
    assert reach_of(ip_address(address)) is reach


PUBLIC, PRIVATE, LOOPBACK = "93.184.215.14", "10.1.2.3", "127.0.0.1"


@pytest.mark.parametrize(
    ("rules", "host", "addresses", "is_allowed"),
    [
        (OutboundRules(), "a.example", [PUBLIC], True),
        (OutboundRules(), "a.example", [], False),
        (OutboundRules(), "a.example", [PRIVATE], False),
        (OutboundRules(), "a.example", [LOOPBACK], False),
        (OutboundRules(), "a.example", [PUBLIC, PRIVATE], False),
        (OutboundRules(("a.example",)), "A.Example.", [PUBLIC], True),
        (OutboundRules(("a.example",)), "a.example", [PRIVATE], True),
        (OutboundRules(("a.example",)), "a.example", [LOOPBACK], False),
        (OutboundRules(("a.example",)), "b.example", [PUBLIC], False),
        (OutboundRules(("*.example",)), "b.example", [PUBLIC], True),
        (OutboundRules(("*.example",)), "example", [PUBLIC], False),
        (OutboundRules(("*.example",)), "b.example.evil.test", [PUBLIC], False),
        (OutboundRules(("10.0.0.0/8",)), "a.example", [PRIVATE], True),
        (OutboundRules(("10.0.0.0/8",)), "a.example", [PUBLIC], False),
        (OutboundRules((PRIVATE,)), PRIVATE, [PRIVATE], True),
        (OutboundRules(allow_private=True), "a.example", [PRIVATE], True),
        (OutboundRules(allow_private=True), "a.example", [LOOPBACK], False),
        (OutboundRules(allow_loopback=True), "localhost", ["::1", LOOPBACK], True),
        (OutboundRules(("a.example",), allow_loopback=True), "localhost", [LOOPBACK], True),
        (OutboundRules(allow_private=True, allow_loopback=True), "metadata.google.internal", [PRIVATE], False),
    ],
)
def test_rules_decide_on_the_numbers_a_name_resolves_to(rules, host, addresses, is_allowed):
    assert (rules.refusal(host, addresses) == "") is is_allowed


@given(st.integers(0, 2**32 - 1))
def test_no_rules_open_the_way_to_link_local_addresses_in_any_disguise(number):
    link_local = (169 << 24) | (254 << 16) | (number & 0xFFFF)
    everything = OutboundRules(("*", "0.0.0.0/0", "::/0"), allow_loopback=True, allow_private=True)
    disguises = [
        ip_address(link_local),
        ip_address((0xFFFF << 32) | link_local),
        ip_address((0x64FF9B << 96) | link_local),
        ip_address((0x2002 << 112) | (link_local << 80) | number),
        ip_address((0xFE80 << 112) | number),
    ]
    for disguise in disguises:
        assert everything.refusal("a.example", [str(disguise)]), disguise


@pytest.mark.parametrize(
    ("keys", "variable", "host", "is_allowed"),
    [
        (OutboundRules().keys, "MY_API_KEY", "a.example", True),
        (OutboundRules().keys, "HERMES_SITE_SECRET_KEY", "a.example", False),
        (OutboundRules().keys, "DATABASE_URL", "a.example", False),
        (OutboundRules().keys, "OPENAI_API_KEY", "api.openai.com", True),
        (OutboundRules().keys, "OPENAI_API_KEY", "a.example", False),
        (("OPENAI_API_KEY@a.example",), "OPENAI_API_KEY", "a.example", True),
        (("OPENAI_API_KEY@*.example",), "OPENAI_API_KEY", "a.example", True),
        (("TEAM_KEY@a.example",), "TEAM_KEY", "b.example", False),
        ((), "MY_API_KEY", "a.example", False),
    ],
)
def test_a_key_goes_only_where_it_may(keys, variable, host, is_allowed):
    assert (OutboundRules(keys=keys).key_refusal(variable, host) == "") is is_allowed
