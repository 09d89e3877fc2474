"""Asking over HTTP: what goes out, what comes back, and every way it can fail, against a real server."""

import gzip
import json
import logging
import threading
from dataclasses import replace

import pytest

from compaction.endpoints.address import OutboundRules
from compaction.endpoints.breaker import BreakerRules, BreakerState
from compaction.endpoints.gates import Gates
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
    document,
    dripping,
    dripping_head,
    endless,
    failure,
    hang_up,
    raw,
    serving,
    silence,
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


# Failures of every kind


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 413, 422, 501, 505])
def test_an_answer_that_says_no_for_good_is_not_asked_again(status):
    reply, server, _ = ask(failure(status, "no such thing"))
    assert (reply.error, reply.error_detail) == (f"http_{status}", f"HTTP {status}: no such thing")
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_an_answer_that_may_pass_is_asked_again_with_growing_waits(status):
    reply, server, caller = ask(failure(status, "later"))
    assert reply.error == f"http_{status}"
    assert reply.error_detail == f"HTTP {status}, after 3 attempts: later"
    assert len(server.asked) == 3
    assert caller.time.slept == [0.375, 0.75]


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_an_endpoint_that_recovers_is_not_a_failure(status):
    reply, server, _ = ask(failure(status), failure(status), completion())
    assert (reply.text, reply.error) == (SUMMARY, "")
    assert len(server.asked) == 3


def test_waits_are_spread_by_chance_and_bounded():
    slept = []
    for chance in (0.0, 1.0):
        time = Caller("").time
        time.chance = chance
        rules = RetryRules(most_attempts=6, first_wait_seconds=1.0, longest_wait_seconds=4.0)
        ask(failure(500), retries=rules, time=time, limits=TimeLimits(5, 60, 60))
        slept.append(time.slept)
    assert slept == [[0.5, 1.0, 2.0, 2.0, 2.0], [1.0, 2.0, 4.0, 4.0, 4.0]]


@pytest.mark.parametrize(
    ("headers", "waited"),
    [
        ([("retry-after", "7")], 7.25),
        ([("Retry-After", "Tue, 14 Nov 2023 22:30:05 GMT")], 5.25),
        ([("retry-after-ms", "1500"), ("retry-after", "9")], 1.75),
        ([("retry-after", "-3")], 0.375),
        ([("retry-after", "soon")], 0.375),
    ],
)
def test_an_endpoint_that_says_when_to_come_back_is_taken_at_its_word(headers, waited):
    time = Caller("").time
    time.now = 1_000.0  # 2023-11-14 22:30:00 by the clock on the wall
    reply, _, _ = ask(failure(429, headers=headers), completion(), time=time)
    assert reply.text == SUMMARY
    assert time.slept == [waited]


def test_a_wait_longer_than_the_time_left_is_not_begun():
    reply, server, caller = ask(failure(429, "slow down", headers=[("retry-after", "3600")]))
    assert reply.error == "http_429"
    assert "asks to wait 3600 s, longer than the time left" in reply.error_detail
    assert (len(server.asked), caller.time.slept) == (1, [])


def test_a_line_cut_before_or_in_the_middle_of_an_answer_is_asked_again():
    cut = raw(b'{"choices": [{"mess', announced=500)
    reply, server, _ = ask(cut, hang_up, completion())
    assert reply.text == SUMMARY
    assert len(server.asked) == 3


def test_a_line_that_is_always_cut_is_a_named_failure():
    for broken in (hang_up, raw(b'{"choices": [{"mess', announced=500)):
        reply, server, _ = ask(broken)
        assert reply.error == "connection_lost"
        assert len(server.asked) == 3


def test_a_silent_endpoint_times_out():
    reply, server, _ = ask(silence, limits=SOON, real_time=True)
    assert reply.error == "timeout"
    assert "0.4 s" in reply.error_detail
    assert 350 <= reply.duration_ms < 5_000
    assert len(server.asked) == 1


@pytest.mark.parametrize("drip", [dripping, dripping_head])
def test_an_endpoint_that_sends_a_byte_now_and_then_is_stopped_at_the_total_time(drip):
    reply, _, _ = ask(drip, limits=TimeLimits(5.0, 5.0, 0.4), real_time=True)
    assert (reply.error, reply.error_detail) == ("timeout", "no complete answer within 0.4 s")


def test_silence_between_two_pieces_is_limited_on_its_own():
    reply, _, _ = ask(silence, limits=TimeLimits(5.0, 0.2, 20.0), real_time=True, retries=ONCE)
    assert (reply.error, reply.error_detail) == ("timeout", "127.0.0.1 was silent for 0.2 s")


def test_nobody_listening_is_a_failed_connection():
    with serving(completion()) as server:
        url = server.url
    caller = Caller(url)
    reply = caller.ask()
    assert reply.error == "connect_failed"
    assert reply.error_detail == "can't connect to 127.0.0.1: Connection refused, after 3 attempts"
    assert len(caller.time.slept) == 2


@pytest.mark.parametrize(
    ("answer", "reason", "detail"),
    [
        (raw(b""), "empty_body", "the answer has no body, after 3 attempts"),
        (raw(b"  \n"), "empty_body", "the answer has no body, after 3 attempts"),
        (raw(b'{"choices": ['), "invalid_json", 'the answer is not valid JSON: {"choices": ['),
        (raw(b"\xff\xfe\x00"), "invalid_json", "the answer is not valid JSON"),
        (raw(b"[" * 100_000), "invalid_json", "the answer is not valid JSON"),
        (raw(b"9" * 5_000), "invalid_json", "the answer is not valid JSON"),
        (raw(b"[1, 2]"), "odd_shape", "the answer is a JSON list, not an object"),
        (document({}), "odd_shape", "the answer holds no choices"),
        (document({"choices": []}), "odd_shape", "the answer holds no choices"),
        (document({"choices": [{"text": "old style"}]}), "odd_shape", "holds no message"),
        (document({"choices": ["?"]}), "odd_shape", "holds no message"),
        (
            raw(b"<!DOCTYPE html><html><title>Sign in\n to Wi-Fi</title>", content_type="text/html"),
            "html_page",
            "the answer is not JSON: a web page: Sign in to Wi-Fi",
        ),
    ],
)
def test_a_body_that_is_no_answer_has_a_name(answer, reason, detail):
    reply, _, _ = ask(answer)
    assert reply.error == reason
    assert detail in reply.error_detail
    assert reply.text is None


def test_a_web_page_with_an_error_status_is_told_by_its_title():
    page = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
    reply, _, _ = ask(raw(page, status=502, content_type="text/html"), retries=ONCE)
    assert (reply.error, reply.error_detail) == ("http_502", "HTTP 502: a web page: 502 Bad Gateway")


@pytest.mark.parametrize(
    ("reported", "reason"),
    [
        ({"error": {"message": "No provider", "code": 503}}, "http_503"),
        ({"error": {"message": "Out of credits", "code": 402}}, "http_402"),
        ({"error": {"message": "odd", "code": "server_error"}}, "provider_error"),
        ({"error": "model not found"}, "provider_error"),
        ({"choices": [{"error": {"message": "upstream", "code": 502}, "message": {"content": "x"}}]}, "http_502"),
    ],
)
def test_an_error_that_comes_with_a_good_status_is_an_error(reported, reason):
    reply, server, _ = ask(document(reported))
    assert reply.error == reason
    assert len(server.asked) == (3 if reason in ("http_502", "http_503") else 1)


def test_an_endless_answer_is_not_read_further_than_allowed():
    reply, _, _ = ask(endless, most_body_bytes=200_000)
    assert (reply.error, reply.error_detail) == (
        "reply_too_large",
        "the answer is larger than 200,000 bytes and was not read further",
    )


def test_an_answer_that_announces_its_size_is_refused_before_it_is_read():
    reply, _, _ = ask(raw(b"", announced=10**12), most_body_bytes=200_000)
    assert reply.error == "reply_too_large"


def test_a_packed_answer_counts_unpacked():
    body = gzip.compress(b" " * 3_000_000)
    assert len(body) < 10_000
    reply, _, _ = ask(raw(body, headers=[("content-encoding", "gzip")]))
    assert reply.error == "reply_too_large"


def test_an_answer_packed_in_layers_is_not_unpacked():
    reply, _, _ = ask(raw(b"x", headers=[("content-encoding", "gzip, gzip")]))
    assert reply.error == "odd_encoding"


def test_an_answer_packed_wrongly_has_a_name():
    reply, _, _ = ask(raw(b"not gzip", headers=[("content-encoding", "gzip")]))
    assert reply.error == "odd_encoding"


def test_the_body_of_an_error_is_cut_off_instead_of_refused():
    reply, _, _ = ask(raw(b"x" * 3_000_000, status=400, content_type="text/plain"))
    assert reply.error == "http_400"
    assert len(reply.error_detail) < 600


def test_something_that_does_not_speak_http_has_a_name():
    reply, _, _ = ask(lambda handler: handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"))
    assert (reply.error, reply.error_detail) == ("not_http", "127.0.0.1 does not answer in HTTP")


def test_an_encrypted_address_where_nobody_encrypts_has_a_name():
    with serving(completion()) as server:
        reply = Caller(server.url.replace("http:", "https:")).ask()
    assert reply.error == "tls_failed"


# Redirects and addresses


def moved(location, status=307):
    return raw(b"", status=status, headers=[("location", location)])


def test_a_redirect_to_another_host_is_refused_and_the_other_host_hears_nothing():
    with serving(completion()) as other:
        location = f"http://localhost:{other.port}/v1/chat/completions"
        reply, server, _ = ask(moved(location), key_env="MY_API_KEY", environment={"MY_API_KEY": KEY})
        assert reply.error == "redirect_refused"
        assert "from 127.0.0.1 to localhost" in reply.error_detail
        assert other.asked == []


def test_a_redirect_to_another_port_is_another_host():
    with serving(completion()) as other:
        reply, _, _ = ask(moved(f"{other.url}/chat/completions"))
        assert (reply.error, other.asked) == ("redirect_refused", [])


def test_a_redirect_within_the_host_is_followed():
    reply, server, _ = ask(moved("/v2/chat/completions", 308), completion())
    assert reply.text == SUMMARY
    assert [asked.path for asked in server.asked] == ["/v1/chat/completions", "/v2/chat/completions"]
    assert server.asked[1].body == server.asked[0].body


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_drop_the_question_is_refused(status):
    reply, server, _ = ask(moved("/v2", status))
    assert (reply.error, len(server.asked)) == ("redirect_refused", 1)


@pytest.mark.parametrize("location", ["", "//", "http://[", "ftp://127.0.0.1/", "file:///etc/passwd"])
def test_a_redirect_to_nowhere_is_refused(location):
    assert ask(moved(location))[0].error == "redirect_refused"


def test_redirects_in_a_circle_end():
    reply, server, _ = ask(moved("/round"))
    assert (reply.error, len(server.asked)) == ("redirect_refused", 4)


@pytest.mark.parametrize("address", ["169.254.169.254", "169.254.7.7", "fe80::1", "fd00:ec2::254", "100.100.100.200"])
def test_a_name_that_resolves_to_a_link_local_or_metadata_address_is_refused(address):
    rules = OutboundRules(
        ("summaries.example", "169.254.0.0/16", "*"), allow_loopback=True, allow_private=True, keys=("*@*",)
    )
    caller = Caller("http://summaries.example", rules=rules, resolve=lambda host, port: ("93.184.215.14", address))
    reply = caller.ask()
    assert reply.error == "address_refused"
    assert address in reply.error_detail


def test_the_address_that_was_checked_is_the_one_that_is_contacted():
    """A name that resolves differently the second time is asked for only once."""
    with serving(completion()) as server:
        resolved = []

        def rebinding(host, port):
            resolved.append(host)
            return ("127.0.0.1",) if len(resolved) == 1 else ("169.254.169.254",)

        caller = Caller(f"http://summaries.example:{server.port}/v1", resolve=rebinding)
        assert caller.ask().text == SUMMARY
        assert resolved == ["summaries.example"]
        assert server.asked[0].headers["host"] == f"summaries.example:{server.port}"
        assert caller.ask().error == "address_refused"


def test_loopback_is_refused_unless_it_is_allowed():
    reply, server, _ = ask(completion(), rules=OutboundRules())
    assert (reply.error, server.asked) == ("address_refused", [])
    assert "loopback is not allowed" in reply.error_detail


def test_a_host_that_is_not_on_the_list_is_refused():
    caller = Caller(
        "https://elsewhere.example",
        rules=OutboundRules(("api.example.com",)),
        resolve=lambda host, port: ("93.184.215.14",),
    )
    assert caller.ask().error == "address_refused"


def test_the_next_address_is_tried_when_the_first_takes_no_connection():
    with serving(completion()) as server:
        caller = Caller(
            f"http://summaries.example:{server.port}/v1", resolve=lambda host, port: ("127.0.0.2", "127.0.0.1")
        )
        assert caller.ask().text == SUMMARY


def test_a_name_nobody_knows_has_a_name_of_its_own():
    def unknown(host, port):
        raise OSError("no such name")

    reply = Caller("http://nowhere.example", resolve=unknown, retries=ONCE).ask()
    assert (reply.error, reply.error_detail) == ("dns_failed", "the name nowhere.example can't be resolved")


def test_a_resolver_that_hangs_is_not_waited_for():
    released = threading.Event()

    def hanging(host, port):
        released.wait(30)
        return ()

    caller = Caller("http://slow.example", resolve=hanging, limits=TimeLimits(0.1, 5, 5), real_time=True, retries=ONCE)
    reply = caller.ask()
    released.set()
    assert (reply.error, reply.error_detail) == ("connect_timeout", "no connection to slow.example within 0.1 s")


# The circuit breaker


def breaking(server, **fields):
    gates = Gates(BreakerRules(failures_to_open=3, cool_down_seconds=30, longest_cool_down_seconds=100))
    return Caller(server.url, gates=gates, retries=ONCE, **fields)


def test_the_breaker_opens_after_failures_in_a_row_and_closes_after_a_probe():
    with serving(failure(500), failure(503), failure(502), completion()) as server:
        caller = breaking(server)
        assert [caller.ask().error for _ in range(3)] == ["http_500", "http_503", "http_502"]
        kept_away = caller.ask()
        assert kept_away.error == "circuit_open"
        assert "(http_502)" in kept_away.error_detail
        assert "for another 30 s" in kept_away.error_detail
        assert len(server.asked) == 3
        caller.time.now += 29.9
        assert caller.ask().error == "circuit_open"
        caller.time.now += 0.2
        assert caller.ask().text == SUMMARY
        assert caller.ask().text == SUMMARY
        assert len(server.asked) == 5


def test_a_probe_that_fails_doubles_the_cool_down_up_to_a_longest():
    with serving(failure(500)) as server:
        caller = breaking(server)
        for _ in range(3):
            caller.ask()
        waited = []
        for _ in range(4):
            [gate] = caller.gates._gates.values()
            waited.append(gate.breaker.seconds_left(caller.time.now))
            caller.time.now += waited[-1]
            assert gate.breaker.state(caller.time.now) is BreakerState.HALF_OPEN
            assert caller.ask().error == "http_500"
        assert waited == [30, 60, 100, 100]
        assert len(server.asked) == 7


def test_only_one_call_probes_at_a_time():
    entered, go_on = threading.Event(), threading.Event()

    def held(handler):
        entered.set()
        go_on.wait(20)
        completion()(handler)

    with serving(failure(500), failure(500), failure(500), held, completion()) as server:
        caller = breaking(server)
        for _ in range(3):
            caller.ask()
        caller.time.now += 31
        replies = []
        probe = threading.Thread(target=lambda: replies.append(caller.ask()))
        probe.start()
        assert entered.wait(20)
        meanwhile = caller.ask()
        assert meanwhile.error == "circuit_open"
        assert "until a first call has succeeded" in meanwhile.error_detail
        go_on.set()
        probe.join()
        assert replies[0].text == SUMMARY
        assert caller.ask().text == SUMMARY
        assert len(server.asked) == 5


def test_answers_that_only_say_no_do_not_open_the_breaker():
    with serving(failure(401)) as server:
        caller = breaking(server)
        assert [caller.ask().error for _ in range(5)] == ["http_401"] * 5


def test_a_success_in_between_starts_the_count_anew():
    script = [failure(500), failure(500), completion(), failure(500), failure(500), completion()]
    with serving(*script) as server:
        caller = breaking(server)
        errors = [caller.ask().error for _ in range(6)]
        assert errors == ["http_500", "http_500", "", "http_500", "http_500", ""]
        assert len(server.asked) == 6


def test_attempts_stop_when_the_breaker_opens_on_the_way():
    with serving(failure(500)) as server:
        caller = replace(breaking(server), retries=RetryRules(most_attempts=9))
        assert caller.ask().error == "circuit_open"
        assert len(server.asked) == 3


def test_silence_and_lost_lines_count_as_failures():
    with serving(hang_up) as server:
        caller = breaking(server)
        errors = [caller.ask().error for _ in range(4)]
        assert errors == ["connection_lost"] * 3 + ["circuit_open"]


def test_breakers_of_different_keys_are_apart():
    with serving(failure(500), failure(500), failure(500), completion()) as server:
        caller = breaking(server, key_env="A_API_KEY", environment={"A_API_KEY": "a" * 20, "B_API_KEY": "b" * 20})
        for _ in range(3):
            caller.ask()
        assert caller.ask().error == "circuit_open"
        assert replace(caller, key_env="B_API_KEY").ask().text == SUMMARY


# Places at an endpoint


def test_no_more_calls_than_allowed_are_under_way_at_one_endpoint():
    lock, arrived, go_on = threading.Lock(), threading.Semaphore(0), threading.Semaphore(0)
    busy, most = 0, 0

    def held(handler):
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        arrived.release()
        assert go_on.acquire(timeout=20)
        with lock:
            busy -= 1
        completion()(handler)

    with serving(held) as server:
        caller = Caller(server.url, most_calls=2, real_time=True)
        replies = []
        threads = [threading.Thread(target=lambda: replies.append(caller.ask())) for _ in range(6)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert arrived.acquire(timeout=20)
            go_on.release()
        for thread in threads:
            thread.join()
        assert [reply.text for reply in replies] == [SUMMARY] * 6
        assert most <= 2
        assert len(server.asked) == 6


def test_a_call_that_finds_no_place_in_time_is_a_named_failure():
    arrived, go_on = threading.Event(), threading.Event()

    def held(handler):
        arrived.set()
        go_on.wait(20)
        completion()(handler)

    with serving(held) as server:
        patient = Caller(server.url, most_calls=1, real_time=True)
        first = threading.Thread(target=patient.ask)
        first.start()
        assert arrived.wait(20)
        reply = replace(patient, limits=SOON).ask()
        go_on.set()
        first.join()
        assert reply.error == "endpoint_busy"
        assert reply.error_detail == "no place was free within 0.4 s; calls under way: 1"
        assert len(server.asked) == 1


def test_a_call_that_waits_to_ask_again_leaves_its_place_to_others():
    with serving(failure(500), completion()) as server:
        caller = Caller(server.url, most_calls=1)
        seen = []

        def sleep(seconds):
            seen.append(caller.gates.gate_of(caller.summarizer().endpoint.gate_key).busy)

        caller.time.sleep = sleep
        assert caller.ask().text == SUMMARY
        assert seen == [0]


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
