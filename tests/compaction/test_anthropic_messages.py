"""Anthropic's dialect, against a real server."""

from dataclasses import replace

import pytest

from compaction.endpoints.endpoint import Dialect
from compaction.replies import Unusable, judge_reply
from compaction.summarizer import Usage
from tests.compaction.loopback import KEY, REQUEST, SUMMARY, ask, document, failure


def ask_anthropic(*script, request=REQUEST, **fields):
    return ask(*script, request=request, dialect=Dialect.ANTHROPIC, model="claude-small", **fields)


def message(*content, stop_reason="end_turn", **fields):
    return document(
        {"type": "message", "model": "served", "content": list(content), "stop_reason": stop_reason, **fields}
    )


def text(value=SUMMARY):
    return {"type": "text", "text": value}


def test_a_question_goes_out_as_a_message_with_key_and_version():
    reply, server, _ = ask_anthropic(message(text()), key_env="MY_API_KEY", environment={"MY_API_KEY": KEY})
    assert (reply.text, reply.finish_reason, reply.model) == (SUMMARY, "stop", "served")
    [asked] = server.asked
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in asked.headers
    assert asked.body == {
        "model": "claude-small",
        "system": "You keep notes.",
        "messages": [{"role": "user", "content": "Merge this."}],
        "max_tokens": 2_500,
        "temperature": 0.1,
        "stream": False,
    }


def test_a_limit_is_always_sent_because_it_has_to_be():
    _, server, _ = ask_anthropic(message(text()), request=replace(REQUEST, max_output_tokens=None))
    assert server.asked[0].body["max_tokens"] == 4_096


def test_tokens_from_and_to_the_cache_are_part_of_the_input():
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 500,
        "cache_creation_input_tokens": 90,
        "output_tokens": 40,
    }
    assert ask_anthropic(message(text(), usage=usage))[0].usage == Usage(600, 40, None, 500)
    assert ask_anthropic(message(text(), usage={"output_tokens": 40}))[0].usage == Usage(None, 40)
    assert ask_anthropic(message(text()))[0].usage == Usage()


@pytest.mark.parametrize(
    ("stop_reason", "finish_reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "pause_turn"),
        (None, None),
    ],
)
def test_reasons_are_told_in_the_engine_s_words(stop_reason, finish_reason):
    assert ask_anthropic(message(text(), stop_reason=stop_reason))[0].finish_reason == finish_reason


def test_thinking_is_carried_apart_from_the_text():
    thinking = {"type": "thinking", "thinking": "I think", "signature": "x"}
    reply, _, _ = ask_anthropic(message(thinking, {"type": "redacted_thinking", "data": "y"}, text("a"), text("b")))
    assert (reply.text, reply.reasoning) == ("ab", "I think\n[hidden]")


def test_a_refusal_is_a_refusal_with_or_without_words():
    for content, words in (((text("I won't."),), "I won't."), ((), "the model refused")):
        reply, _, _ = ask_anthropic(message(*content, stop_reason="refusal"))
        assert reply.refusal == words
        judged = judge_reply(reply, REQUEST)
        assert isinstance(judged, Unusable) and judged.reason == "refusal"


def test_tool_use_is_noticed():
    reply, _, _ = ask_anthropic(message({"type": "tool_use", "id": "1", "name": "f", "input": {}}))
    assert reply.has_tool_calls


@pytest.mark.parametrize("answer", [document({}), document({"content": "text"}), document({"type": "message"})])
def test_an_answer_without_content_has_an_odd_shape(answer):
    assert ask_anthropic(answer)[0].error == "odd_shape"


def test_an_error_with_a_good_status_is_an_error():
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "no such model"}}
    reply, server, _ = ask_anthropic(document(error))
    assert (reply.error, reply.error_detail, len(server.asked)) == ("provider_error", "no such model", 1)


def test_an_overloaded_endpoint_is_asked_again():
    overloaded = document({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, status=529)
    reply, server, _ = ask_anthropic(overloaded, overloaded, message(text()))
    assert (reply.text, len(server.asked)) == (SUMMARY, 3)


def test_a_model_that_takes_no_temperature_is_asked_without():
    refused = failure(400, "`temperature` is deprecated for this model.", type="invalid_request_error")
    reply, server, _ = ask_anthropic(refused, message(text()))
    assert reply.text == SUMMARY
    assert "temperature" not in server.asked[1].body
