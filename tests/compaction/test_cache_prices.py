"""Price tables: the shipped one, and one's own."""

import json

import pytest

from compaction.cache_prices import read_price_table
from compaction.errors import InvalidInput
from tests.compaction.cached_sessions import ANTHROPIC, NO_CACHE, TABLE


@pytest.mark.parametrize(
    ("since", "now", "is_alive"),
    [(0.0, 299.9, True), (0.0, 300.0, False), (None, 5.0, None), (5.0, None, None), (9.0, 5.0, None)],
)
def test_a_cache_is_alive_dead_or_unknown(since, now, is_alive):
    assert ANTHROPIC.is_alive(since, now) is is_alive
    assert NO_CACHE.is_alive(since, now) is False


def test_the_shipped_table_holds_the_published_figures():
    assert [prices.id for prices in TABLE.providers][:2] == ["anthropic-5m", "anthropic-1h"]
    assert (ANTHROPIC.read, ANTHROPIC.write, ANTHROPIC.ttl_seconds) == (0.1, 1.25, 300)
    assert TABLE.named("deepseek-flash").granularity_tokens == 64
    assert TABLE.named("gemini-implicit").unsure == ("ttl_seconds",)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("anthropic/claude-sonnet-4.5", "anthropic-5m"),
        ("gpt-5-mini", "openai-gpt5"),
        ("openai/GPT-5.6-turbo", "openai-gpt56"),
        ("gemini-2.5-pro", "gemini-implicit"),
    ],
)
def test_a_model_finds_the_table_with_the_longest_match(model, expected):
    assert TABLE.for_model(model).id == expected


def test_an_unknown_model_has_no_table():
    assert TABLE.for_model("llama-3.2-1b") is None
    assert TABLE.for_model("") is None


GOOD = {"id": "a", "read": 0.1, "write": 1, "ttl_seconds": 60, "ttl_refreshes_on_use": True, "min_tokens": 0}


def table_of(*entries):
    return json.dumps({"providers": list(entries)})


def test_a_project_s_own_table_is_read_like_the_shipped_one():
    assert read_price_table(table_of(GOOD)).named("a").write == 1.0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "is not valid JSON"),
        ("[]", "list of providers"),
        ('{"providers": []}', "list of providers"),
        (table_of(1), "provider 1: must be an object"),
        (table_of({"id": "a"}), "missing: read, write"),
        (table_of({**GOOD, "colour": 1}), "unknown: colour"),
        (table_of({**GOOD, "read": -0.1}), "read must be a number"),
        (table_of({**GOOD, "read": True}), "read must be a number"),
        ('{"providers": [' + json.dumps(GOOD).replace("0.1", "NaN") + "]}", "read must be a number"),
        (table_of({**GOOD, "min_tokens": 1.5}), "min_tokens must be a whole number"),
        (table_of({**GOOD, "granularity_tokens": 0}), "granularity_tokens must be a whole number of at least 1"),
        (table_of({**GOOD, "ttl_refreshes_on_use": 1}), "ttl_refreshes_on_use must be true or false"),
        (table_of({**GOOD, "unsure": ["colour"]}), "unsure names keys"),
        (table_of({**GOOD, "models": "claude"}), "models must be a list"),
        (table_of({**GOOD, "id": " "}), "id must be a text"),
        (table_of(GOOD, GOOD), "more than once: a"),
    ],
)
def test_a_table_that_can_not_be_right_is_refused_with_the_place(text, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        read_price_table(text, "mine.json")


def test_an_unknown_table_is_refused_with_the_known_names():
    with pytest.raises(InvalidInput, match="no-cache"):
        TABLE.named("nobody")
