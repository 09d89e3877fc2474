"""A main model over real HTTP: whole answers and streams, in both dialects, and everything that can break them off."""

import json
import threading

import pytest

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.breaker import BreakerRules
from compaction.endpoints.event_feed import EventFeed
from compaction.endpoints.gates import Gates
from compaction.endpoints.http_client import HttpClient
from compaction.endpoints.http_line import Line
from compaction.http_main_model import HttpMainModel, Passage, talk_settings
from compaction.main_model import MainModel
from compaction.messages import ImagePart, Message, Role, TextPart, ToolCall
from compaction.talk import PieceKind, TalkQuestion
from tests.compaction.loopback import completion, document, events, failure, serving, silence

RULES = OutboundRules(allow_loopback=True, keys=("*@*",))
HELLO = TalkQuestion((Message(Role.SYSTEM, "Be brief."), Message(Role.USER, "hello")))
USAGE = {
    "prompt_tokens": 30,
    "completion_tokens": 7,
    "prompt_tokens_details": {"cached_tokens": 20},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def chunk(delta=None, reason=None, index=0, **more):
    return {"model": "served", "choices": [{"index": index, "delta": delta or {}, "finish_reason": reason}], **more}


STREAM = (
    chunk({"role": "assistant", "reasoning_content": "hm"}),
    chunk({"content": "Hel"}),
    chunk({"content": "lo"}),
    chunk({"content": "rival"}, index=1),
    chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": ""}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"at":'}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"x"}'}}]}),
    chunk(reason="tool_calls"),
    {"model": "served", "choices": [], "usage": USAGE},
    "[DONE]",
)


def model_at(server, is_streamed=True, path="", **fields):
    model = MainModel("m", base_url=server.url + path, **{"timeout_seconds": 20, **fields})
    client = HttpClient(RULES, talk_settings(model, is_streamed=is_streamed), gates=Gates(BreakerRules(100)))
    return HttpMainModel(model.endpoint(), RULES, client)


def test_a_stream_is_told_piece_by_piece_and_joined_into_one_message():
    pieces = []
    with serving(events(*STREAM)) as server:
        answer = model_at(server).ask(HELLO, pieces.append)
        [asked] = server.asked
    assert [(piece.kind, piece.text) for piece in pieces[:3]] == [
        (PieceKind.REASONING, "hm"),
        (PieceKind.TEXT, "Hel"),
        (PieceKind.TEXT, "lo"),
    ]
    assert (pieces[3].name, pieces[3].call_id) == ("look", "c1")
    message = answer.message
    assert (message.text, message.reasoning) == ("Hello", "hm")
    assert message.tool_calls == (ToolCall("c1", "look", '{"at":"x"}'),)
    assert answer.is_complete and not answer.ends_turn and answer.finish_reason == "tool_calls"
    assert (answer.usage.input_tokens, answer.usage.cached_tokens, answer.usage.reasoning_tokens) == (30, 20, 2)
    assert answer.model == "served" and 0 <= answer.first_token_ms <= answer.duration_ms
    assert asked.body["stream"] is True and asked.body["stream_options"] == {"include_usage": True}
    assert asked.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello"},
    ]


def test_a_whole_answer_is_read_with_its_usage_and_has_no_time_to_its_first_token():
    with serving(completion("Hello", usage=USAGE, refusal=None, annotations=[])) as server:
        answer = model_at(server, is_streamed=False).ask(HELLO)
    assert answer.message == Message(Role.ASSISTANT, "Hello")
    assert answer.ends_turn and answer.usage.output_tokens == 7
    assert (answer.first_token_ms, answer.error) == (None, "")


def test_tools_and_the_limit_of_the_answer_go_along():
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    with serving(completion("ok")) as server:
        model_at(server, is_streamed=False).ask(TalkQuestion(HELLO.messages, (json.dumps(tool),), 500))
        [asked] = server.asked
    assert asked.body["tools"] == [tool]
    assert asked.body["max_tokens"] == 500


def test_a_stream_that_is_cut_keeps_its_words_and_drops_the_half_of_a_call():
    with serving(events(*STREAM[:6])) as server:
        answer = model_at(server).ask(HELLO, lambda piece: None)
        assert len(server.asked) == 1, "an answer that has begun is not asked for again"
    assert (answer.error, answer.is_complete) == ("connection_lost", False)
    assert answer.message == Message(Role.ASSISTANT, "Hello", reasoning="hm")


def test_an_error_in_a_stream_is_told_with_what_had_come():
    with serving(events(chunk({"content": "Hel"}), {"error": {"message": "overloaded", "code": 503}})) as server:
        answer = model_at(server).ask(HELLO, lambda piece: None)
    assert (answer.error, answer.message.text) == ("http_503", "Hel")


def test_a_passing_failure_before_the_answer_is_asked_again():
    with serving(failure(503), events(*STREAM)) as server:
        answer = model_at(server).ask(HELLO, lambda piece: None)
        assert len(server.asked) == 2
    assert answer.is_complete


def test_a_refused_parameter_is_changed_and_the_question_put_again():
    with serving(failure(400, "stream_options is not supported"), events(*STREAM)) as server:
        answer = model_at(server).ask(HELLO, lambda piece: None)
        assert "stream_options" not in server.asked[1].body
    assert answer.is_complete


def test_cutting_the_line_ends_a_call_that_waits_and_is_no_failure_of_the_endpoint():
    line, heard = Line(), threading.Event()
    with serving(events(chunk({"content": "Hel"}), heard.set, lambda: server.stopped.wait(30))) as server:
        model = model_at(server)
        found = []
        asking = threading.Thread(target=lambda: found.append(model.ask(HELLO, lambda piece: None, line)))
        asking.start()
        assert heard.wait(10)
        line.cut()
        asking.join(10)
        assert not asking.is_alive()
    [answer] = found
    assert answer.error == "cancelled"
    assert not answer.is_complete


def test_a_silent_stream_ends_after_the_silence_that_is_allowed():
    with serving(silence) as server:
        answer = model_at(server, silence_seconds=1).ask(HELLO, lambda piece: None)
    assert (answer.error, answer.message) == ("timeout", None)


def test_a_body_that_is_passed_on_goes_out_and_comes_back_byte_for_byte():
    heads, passed = [], []
    body = json.dumps({"model": "theirs", "odd": [1], "stream": True, "messages": []}).encode()
    with serving(events(*STREAM)) as server:
        passage = Passage(lambda status, media: heads.append((status, media)), passed.append)
        answer = model_at(server).pass_on(body, passage)
        assert server.asked[0].body == json.loads(body)
    text = "".join(f"data: {item if isinstance(item, str) else json.dumps(item)}\n\n" for item in STREAM)
    assert b"".join(passed).decode() == text
    assert heads == [(200, "text/event-stream")]
    assert answer.message.text == "Hello"


def test_a_refusal_of_a_passed_body_has_its_status_and_wait_and_is_not_asked_again():
    model_of = {"repeats_answered": False, "is_streamed": True}
    with serving(failure(429, "slow down", headers=(("retry-after", "7"),))) as server:
        model = MainModel("m", base_url=server.url)
        client = HttpClient(RULES, talk_settings(model, **model_of), gates=Gates())
        asked = HttpMainModel(model.endpoint(), RULES, client)
        answer = asked.pass_on(b"{}", Passage(pytest.fail, pytest.fail))
        assert len(server.asked) == 1
    assert (answer.status, answer.error, answer.retry_after_seconds) == (429, "http_429", 7)
    assert "slow down" in answer.error_detail


ANTHROPIC_STREAM = (
    {"type": "message_start", "message": {"model": "c", "usage": {"input_tokens": 5, "cache_read_input_tokens": 9}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "sig"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "c1", "name": "look"}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"at": "x"}'}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop"},
)


def test_anthropics_stream_is_joined_into_the_same_kind_of_message():
    with serving(events(*ANTHROPIC_STREAM)) as server:
        answer = model_at(server, path="/messages").ask(HELLO, lambda piece: None)
        [asked] = server.asked
    assert asked.path == "/v1/messages"
    assert asked.body["system"] == "Be brief."
    assert asked.body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    assert (answer.message.text, answer.message.reasoning) == ("Hello", "hm")
    assert answer.message.tool_calls == (ToolCall("c1", "look", '{"at": "x"}'),)
    assert (answer.finish_reason, answer.usage.input_tokens, answer.usage.cached_tokens) == ("tool_calls", 14, 9)
    assert json.loads(answer.message.extras)["thinking_blocks"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"}
    ]


def test_a_conversation_with_tools_and_pictures_is_put_in_anthropics_dialect():
    picture = json.dumps({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}})
    thoughts = json.dumps({"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "sig"}]})
    said = (
        Message(Role.USER, (TextPart("what is this?"), ImagePart(picture))),
        Message(Role.ASSISTANT, "I look.", (ToolCall("c1", "look", '{"at": 1}'),), reasoning="hm", extras=thoughts),
        Message(Role.TOOL, "a cat", tool_call_id="c1"),
        Message(Role.USER, "sure?"),
    )
    with serving(document({"content": [{"type": "text", "text": "yes"}], "stop_reason": "end_turn"})) as server:
        answer = model_at(server, is_streamed=False, path="/messages").ask(TalkQuestion(said))
        user, agent, results = server.asked[0].body["messages"]
    assert user["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": "iVBO"}
    assert [block["type"] for block in agent["content"]] == ["thinking", "text", "tool_use"]
    assert agent["content"][2]["input"] == {"at": 1}
    assert [block["type"] for block in results["content"]] == ["tool_result", "text"]
    assert answer.ends_turn and answer.finish_reason == "stop"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_events_are_found_wherever_the_body_is_cut(ending):
    body = f"data: ä1{ending}{ending}: comment{ending}{ending}data: 2{ending}{ending}".encode()
    for cut in range(len(body)):
        feed = EventFeed()
        found = [*feed.feed(body[:cut]), *feed.feed(body[cut:]), *feed.end()]
        assert [event.data for event in found] == ["ä1", "2"], cut
    assert found[-1].end_bytes == len(body)
