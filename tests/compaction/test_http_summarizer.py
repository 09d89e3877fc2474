"""Asking over HTTP against a real server: what goes out, and what comes back of good answers."""

import gzip
import json
import logging
from dataclasses import replace

import pytest

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.retrying import RetryRules
from compaction.endpoints.timing import TimeLimits
from compaction.replies import Usable, judge_reply
from compaction.summarizer import Summarizer, Usage
from tests.compaction.loopback import (
    KEY,
    REQUEST,
    SUMMARY,
    Caller,
    ask,
    completion,
    failure,
    hang_up,
    raw,
    serving,
)

ONCE = RetryRules(most_attempts=1)
SOON = TimeLimits(0.4, 0.4, 0.4)


# What goes out


def test_a_question_goes_out_as_a_chat_completion_and_its_answer_comes_back():
    reply, server, _ = ask(completion())
    assert reply.text == SUMMARY
    assert (reply.finish_reason, reply.model, reply.error) == ("stop", "served-model", "")
    assert isinstance(judge_reply(reply, REQUEST), Usable)
    [asked] = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "small-model",
        "messages": [
            {"role": "system", "content": "You keep notes."},
            {"role": "user", "content": "Merge this."},
        ],
        "max_tokens": 2_500,
        "temperature": 0.1,
        "stream": False,
    }


def test_a_question_without_a_limit_sends_none():
    _, server, _ = ask(completion(), request=replace(REQUEST, max_output_tokens=None))
    assert "max_tokens" not in server.asked[0].body


def test_half_a_surrogate_pair_in_the_question_does_not_stop_it():
    reply, server, _ = ask(completion(), request=replace(REQUEST, user="torn \ud800 text"))
    assert reply.text == SUMMARY
    assert server.asked[0].body["messages"][1]["content"] == "torn \ud800 text"


def test_it_is_a_summarizer_with_a_model_and_a_window():
    summarizer: Summarizer = Caller("http://127.0.0.1:1").summarizer()
    assert (summarizer.model, summarizer.window_tokens) == ("small-model", None)


def test_a_key_is_read_by_name_at_each_call_and_sent_as_a_bearer():
    environment = {"MY_API_KEY": f" {KEY}\n"}
    with serving(completion()) as server:
        summarizer = Caller(server.url, key_env="MY_API_KEY", environment=environment).summarizer()
        summarizer.ask(REQUEST)
        environment["MY_API_KEY"] = "another-key-9876"
        summarizer.ask(REQUEST)
    assert [asked.headers["authorization"] for asked in server.asked] == [f"Bearer {KEY}", "Bearer another-key-9876"]


def test_without_a_key_variable_no_authorization_is_sent():
    _, server, _ = ask(completion())
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("environment", "reason"),
    [({}, "key_missing"), ({"MY_API_KEY": "  "}, "key_missing"), ({"MY_API_KEY": "a\x00b"}, "key_invalid")],
)
def test_a_key_that_can_not_be_sent_is_a_named_failure_and_nothing_is_asked(environment, reason):
    reply, server, _ = ask(completion(), key_env="MY_API_KEY", environment=environment)
    assert reply.error == reason
    assert "MY_API_KEY" in reply.error_detail
    assert server.asked == []


def test_a_key_that_may_not_go_to_this_host_stays_here():
    rules = OutboundRules(allow_loopback=True, keys=("OTHER_API_KEY", "MY_API_KEY@api.example.com"))
    reply, server, _ = ask(completion(), key_env="MY_API_KEY", environment={"MY_API_KEY": KEY}, rules=rules)
    assert reply.error == "key_refused"
    assert server.asked == []


def test_a_key_never_shows_in_errors_or_logs(caplog):
    caplog.set_level(logging.DEBUG)
    echo = f"Incorrect API key provided: {KEY}. Header was 'Authorization: Bearer {KEY}'"
    answers = [failure(401, echo), raw(echo.encode()), failure(500, echo), hang_up]
    for answer in answers:
        reply, server, caller = ask(answer, key_env="MY_API_KEY", environment={"MY_API_KEY": KEY}, retries=ONCE)
        assert server.asked[0].headers["authorization"].endswith(KEY)
        assert reply.error
        assert KEY not in repr(reply)
        assert KEY not in repr(caller.summarizer().endpoint)
    assert KEY not in caplog.text


def test_a_key_that_looks_like_nothing_in_particular_is_masked_too():
    environment = {"MY_API_KEY": "plainwordkey"}
    reply, _, _ = ask(failure(401, "bad key plainwordkey"), key_env="MY_API_KEY", environment=environment)
    assert reply.error_detail == "HTTP 401: bad key [REDACTED]"


@pytest.mark.parametrize("shift", range(0, 24, 3))
def test_no_part_of_a_key_is_left_where_a_long_error_is_cut_off(shift):
    environment = {"MY_API_KEY": "plainwordkey"}
    for answer in (
        failure(401, "." * (300 - shift) + "plainwordkey"),
        raw(b" " * 1_190 + b"." * shift + b"plainwordkey"),
    ):
        reply, _, _ = ask(answer, key_env="MY_API_KEY", environment=environment)
        assert reply.error in ("http_401", "invalid_json")
        assert "plainw" not in reply.error_detail


# What comes back


def test_usage_is_taken_as_reported_with_cached_and_reasoning_tokens():
    usage = {
        "prompt_tokens": 900,
        "completion_tokens": 70,
        "prompt_tokens_details": {"cached_tokens": 512},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    reply, _, _ = ask(completion(usage=usage))
    assert reply.usage == Usage(900, 70, 30, 512)


@pytest.mark.parametrize("usage", [None, {}, [], "many", {"prompt_tokens": -1, "completion_tokens": "7"}])
def test_usage_that_is_not_reported_stays_unknown(usage):
    reply, _, _ = ask(completion(usage=usage))
    assert reply.text == SUMMARY
    assert reply.usage == Usage()


def test_reported_zero_is_zero_and_not_unknown():
    reply, _, _ = ask(completion(usage={"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 0}}))
    assert reply.usage == Usage(input_tokens=9, cached_tokens=0)


def test_cached_tokens_are_found_under_the_other_name_they_have():
    reply, _, _ = ask(completion(usage={"prompt_tokens": 9, "prompt_cache_hit_tokens": 8}))
    assert reply.usage.cached_tokens == 8


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "I think"},
        {"reasoning": "I think"},
        {"thinking": "I think"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "I think"}]},
    ],
)
def test_reasoning_is_carried_wherever_it_stands(fields):
    reply, _, _ = ask(completion("", **fields))
    assert (reply.text, reply.reasoning) == ("", "I think")


def test_content_in_parts_is_joined_and_thinking_parts_are_reasoning():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "I think"}]},
        {"type": "text", "text": "## Key "},
        {"type": "text", "text": "Decisions"},
    ]
    reply, _, _ = ask(completion(parts))
    assert (reply.text, reply.reasoning) == ("## Key Decisions", "I think")


def test_a_refusal_is_carried():
    reply, _, _ = ask(completion(None, refusal="I can't do that."))
    assert (reply.text, reply.refusal, reply.error) == (None, "I can't do that.", "")


def test_an_answer_cut_off_at_its_limit_says_so():
    reply, _, _ = ask(completion("Half a sen", finish_reason="length"))
    assert (reply.text, reply.finish_reason) == ("Half a sen", "length")


def test_tool_calls_are_noticed():
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    assert ask(completion(None, "tool_calls", tool_calls=calls))[0].has_tool_calls
    assert ask(completion(None, function_call={"name": "f"}))[0].has_tool_calls
    assert not ask(completion(tool_calls=[]))[0].has_tool_calls


def test_characters_no_database_holds_are_replaced():
    reply, _, _ = ask(raw(b'{"choices": [{"message": {"content": "a\\u0000b \\ud800 c"}}]}'))
    assert reply.text == "a\ufffdb \ufffd c"


def test_a_packed_answer_is_unpacked():
    body = gzip.compress(json.dumps({"choices": [{"message": {"content": SUMMARY}}]}).encode())
    reply, server, _ = ask(raw(body, headers=[("content-encoding", "gzip")]))
    assert reply.text == SUMMARY
    assert server.asked[0].headers["accept-encoding"] == "identity"


def test_duration_covers_attempts_and_waits():
    reply, _, caller = ask(failure(503), completion())
    assert reply.text == SUMMARY
    assert reply.duration_ms == round(sum(caller.time.slept) * 1_000) == 375


# Parameters some models refuse

NEWER_LIMIT = failure(
    400,
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    param="max_tokens",
    code="unsupported_parameter",
)
NO_TEMPERATURE = failure(
    400,
    "Unsupported value: 'temperature' does not support 0.1 with this model. Only the default (1) value is supported.",
    param="temperature",
    code="unsupported_value",
)


def test_a_refused_parameter_is_changed_once_and_remembered():
    with serving(NEWER_LIMIT, NO_TEMPERATURE, completion()) as server:
        caller = Caller(server.url)
        assert caller.ask().text == SUMMARY
        assert caller.ask().text == SUMMARY
    limits = [(asked.body.get("max_tokens"), asked.body.get("max_completion_tokens")) for asked in server.asked]
    assert limits == [(2_500, None), (None, 2_500), (None, 2_500), (None, 2_500)]
    assert ["temperature" in asked.body for asked in server.asked] == [True, True, False, False]
    assert caller.time.slept == []


def test_what_one_model_refuses_another_may_take():
    with serving(NO_TEMPERATURE, completion()) as server:
        caller = Caller(server.url)
        caller.ask()
        replace(caller, model="other").ask()
    assert ["temperature" in asked.body for asked in server.asked] == [True, False, True]


def test_an_endpoint_that_refuses_everything_is_not_asked_for_ever():
    reply, server, _ = ask(NO_TEMPERATURE)
    assert (reply.error, len(server.asked)) == ("http_400", 2)


def test_a_refusal_about_something_else_changes_nothing():
    reply, server, _ = ask(failure(400, "the temperature of the room is 20 degrees"))
    assert (reply.error, len(server.asked)) == ("http_400", 1)
