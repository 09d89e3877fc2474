"""The main model as settings name it."""

import pytest

from compaction.endpoints.endpoint import Dialect
from compaction.errors import InvalidPolicy
from compaction.main_model import MainModel, read_main_model


def test_the_block_is_read_into_a_value_and_written_back_to_an_equal_one():
    block = {
        "default": "big",
        "provider": "openai",
        "base_url": "https://api.openai.com/v1",
        "key_env": "MY_API_KEY",
        "context_length": 200_000,
        "max_tokens": 8_000,
        "timeout": 300,
        "read_timeout": 60,
    }
    reading = read_main_model(block)
    assert reading.problems == ()
    assert reading.model == MainModel("big", "openai", block["base_url"], "MY_API_KEY", 200_000, 8_000, 300, 60)
    assert read_main_model(reading.model.to_mapping()).model == reading.model


def test_a_name_alone_is_a_model_that_nobody_can_ask():
    model = read_main_model("big").model
    assert (model.model, model.is_reachable) == ("big", False)
    assert not read_main_model(None).model.is_reachable


def test_other_spellings_of_a_key_mean_the_same():
    model = read_main_model({"name": "big", "api_key_env": "MY_API_KEY"}).model
    assert (model.model, model.key_env) == ("big", "MY_API_KEY")


@pytest.mark.parametrize(
    ("block", "key"),
    [
        ({"provider": "nobody-knows-it"}, "model.provider"),
        ({"provider": "openai"}, "model.default"),
        ({"default": "m", "base_url": "ftp://example.com"}, "model.base_url"),
        ({"default": "m", "base_url": "https://user:secret@example.com"}, "model.base_url"),
        ({"context_length": "large"}, "model.context_length"),
        ({"timeout": "soon"}, "model.timeout"),
        (["big"], "model"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_with_its_key(block, key):
    [problem] = read_main_model(block).errors
    assert problem.key == key
    assert "secret" not in f"{problem.message}{problem.given}"


def test_a_key_that_stands_in_the_settings_is_not_taken_and_not_shown():
    reading = read_main_model({"default": "m", "api_key": "sk-very-secret"})
    [problem] = reading.problems
    assert problem.key == "model.api_key" and "very-secret" not in str(problem)
    assert reading.model.key_env == ""


def test_the_endpoint_is_found_like_a_summarizers():
    endpoint = read_main_model({"provider": "anthropic", "default": "claude"}).model.endpoint()
    assert (endpoint.dialect, endpoint.url) == (Dialect.ANTHROPIC, "https://api.anthropic.com/v1/messages")
    assert endpoint.key_env == "ANTHROPIC_API_KEY"
    with pytest.raises(InvalidPolicy, match="model.base_url"):
        MainModel("m").endpoint()
