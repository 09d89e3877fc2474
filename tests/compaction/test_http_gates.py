"""The circuit breaker and the places at an endpoint, with real calls."""

import threading
from dataclasses import replace

from compaction.endpoints.breaker import BreakerRules, BreakerState
from compaction.endpoints.gates import Gates
from compaction.endpoints.retrying import RetryRules
from compaction.endpoints.timing import TimeLimits
from tests.compaction.loopback import (
    SUMMARY,
    Caller,
    completion,
    failure,
    hang_up,
    serving,
)

ONCE = RetryRules(most_attempts=1)
SOON = TimeLimits(0.4, 0.4, 0.4)


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
