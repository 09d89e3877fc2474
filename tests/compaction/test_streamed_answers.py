"""Answers that come piece by piece, in both dialects, whole and broken."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.endpoints.dialects import read_answer
from compaction.endpoints.endpoint import Dialect
from compaction.endpoints.event_stream import read_events
from compaction.endpoints.retrying import RetryRules
from compaction.summarizer import Usage
from tests.compaction.loopback import ask, completion, events, failure

ONCE = RetryRules(most_attempts=1)


def delta(finish_reason=None, **fields):
    return {"model": "served-model", "choices": [{"delta": fields, "finish_reason": finish_reason}]}


def test_pieces_are_joined_with_reasoning_usage_and_reason():
    usage = {"prompt_tokens": 90, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 3}}
    reply, server, _ = ask(
        events(
            delta(role="assistant", content=""),
            delta(reasoning_content="I "),
            delta(reasoning_content="think"),
            delta(content="## Key "),
            delta(content="Decisions"),
            delta("stop"),
            {"choices": [], "usage": usage},
            "[DONE]",
        ),
        is_streamed=True,
    )
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("## Key Decisions", "I think", "stop")
    assert (reply.usage, reply.model) == (Usage(90, 7, 3, None), "served-model")
    assert server.asked[0].body["stream"] is True
    assert server.asked[0].body["stream_options"] == {"include_usage": True}


def test_the_first_token_is_timed_when_it_comes_and_not_when_the_line_opens():
    pieces = [delta(role="assistant", content=""), delta(content="a"), delta(content="b"), delta("stop")]
    sent = [f"data: {json.dumps(piece)}\n\n".encode() for piece in pieces]
    sizes = [sum(map(len, sent[: n + 1])) for n in range(len(sent))]
    arrivals = tuple(zip(sizes, [0.1, 0.5, 0.75, 1.0], strict=True))
    reply = read_answer(Dialect.OPENAI, "text/event-stream", b"".join(sent), arrivals)
    assert (reply.text, reply.first_token_ms) == ("ab", 500)
    in_one_piece = read_answer(Dialect.OPENAI, "text/event-stream", b"".join(sent), ((sizes[-1], 0.9),))
    assert in_one_piece.first_token_ms == 900


def test_a_streamed_answer_over_the_wire_has_a_first_token_time():
    reply, _, _ = ask(events(delta(content="a"), delta("stop"), "[DONE]"), is_streamed=True, real_time=True)
    assert 0 <= reply.first_token_ms <= reply.duration_ms


def test_the_first_token_is_timed_from_the_question_on_and_not_from_the_last_attempt():
    whole = events(delta(content="a"), delta("stop"), "[DONE]")
    reply, _, _ = ask(failure(500), whole, is_streamed=True)
    assert reply.first_token_ms == reply.duration_ms == 375


def test_an_answer_that_comes_whole_has_no_first_token_time():
    reply, _, _ = ask(completion(), is_streamed=True)
    assert (reply.first_token_ms, reply.error) == (None, "")


def test_a_stream_that_is_cut_off_is_asked_again():
    whole = events(delta(content="all of it"), delta("stop"), "[DONE]")
    reply, server, _ = ask(events(delta(content="half")), whole, is_streamed=True)
    assert (reply.text, len(server.asked)) == ("all of it", 2)


def test_a_stream_that_is_always_cut_off_is_a_named_failure():
    reply, _, _ = ask(events(delta(content="half")), is_streamed=True)
    assert (reply.error, reply.text) == ("connection_lost", None)


def test_an_error_in_the_middle_of_a_stream_is_an_error():
    broken = {"error": {"message": "overloaded", "code": 503}, "choices": []}
    reply, _, _ = ask(events(delta(content="half"), broken), is_streamed=True, retries=ONCE)
    assert (reply.error, reply.error_detail) == ("http_503", "overloaded")


def test_an_event_that_is_no_json_is_a_named_failure():
    assert ask(events("{half"), is_streamed=True)[0].error == "invalid_json"


def test_a_server_that_does_not_know_stream_options_is_asked_without_them():
    refused = failure(422, "Extra inputs are not permitted: stream_options")
    reply, server, _ = ask(refused, events(delta(content="x"), delta("stop")), is_streamed=True)
    assert reply.text == "x"
    assert "stream_options" not in server.asked[1].body


def test_halves_of_a_character_in_two_pieces_become_one():
    reply, _, _ = ask(events(delta(content="\ud83d"), delta(content="\ude42"), delta("stop")), is_streamed=True)
    assert reply.text == "🙂"


def test_a_streamed_tool_call_and_a_streamed_refusal_are_noticed():
    call = [{"index": 0, "function": {"name": "f", "arguments": ""}}]
    assert ask(events(delta(tool_calls=call), delta("tool_calls")), is_streamed=True)[0].has_tool_calls
    assert ask(events(delta(refusal="I "), delta(refusal="won't"), delta("stop")), is_streamed=True)[0].refusal == (
        "I won't"
    )


ANTHROPIC = (
    {"type": "message_start", "message": {"model": "served", "usage": {"input_tokens": 9, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "I think"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "abc"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "## Key "}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Decisions"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}},
    {"type": "message_stop"},
)


def ask_anthropic(*answers):
    return ask(events(*answers), is_streamed=True, dialect=Dialect.ANTHROPIC, retries=ONCE)[0]


def test_blocks_of_a_streamed_message_are_joined():
    reply = ask_anthropic(*ANTHROPIC)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("## Key Decisions", "I think", "stop")
    assert (reply.usage, reply.model) == (Usage(9, 12), "served")


def test_a_streamed_message_without_its_end_is_not_an_answer():
    assert ask_anthropic(*ANTHROPIC[:-1]).error == "connection_lost"


def test_an_error_event_is_an_error():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert ask_anthropic(*ANTHROPIC[:5], error).error == "provider_error"


# Events


def test_events_are_read_by_the_rules_of_server_sent_events():
    body = b": comment\r\nevent: a\r\ndata: 1\r\ndata: 2\r\n\r\nid: 7\rdata:3\r\rretry: 9\n\ndata: last\n"
    read = [(event.name, event.data) for event in read_events(body)]
    assert read == [("a", "1\n2"), ("", "3"), ("", "last")]


def test_an_event_that_was_cut_off_is_left_out():
    assert [event.data for event in read_events(b"data: 1\n\ndata: 2")] == ["1"]


@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(), max_size=3), max_size=6), st.sampled_from(["\n", "\r\n"])
)
def test_any_sequence_of_documents_survives_the_stream(documents, ending):
    body = "".join(f"data: {json.dumps(document)}{ending * 2}" for document in documents).encode()
    read = list(read_events(body))
    assert [event.document() for event in read] == documents
    assert [event.end_bytes for event in read] == sorted(event.end_bytes for event in read)
    assert not read or read[-1].end_bytes == len(body)


@pytest.mark.parametrize("body", [b"", b"\n\n\n", b": only comments\n\n", b"event: x\n\n"])
def test_no_data_is_no_event(body):
    assert list(read_events(body)) == []
