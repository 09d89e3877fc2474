"""Every way a call can fail, against a real server that fails in just this way."""

import gzip

import pytest

from compaction.endpoints.retrying import RetryRules
from compaction.endpoints.timing import TimeLimits
from tests.compaction.loopback import (
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
