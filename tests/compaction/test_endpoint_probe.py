"""Testing an endpoint: what one question shows about it."""

from dataclasses import replace

import pytest

from compaction.endpoint_probe import PROBE_FACTS, ProbeWarning, compare_endpoints, probe_endpoint, probe_request
from compaction.errors import InvalidInput
from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Reply, Usage
from compaction.tokens import RoughCounter
from tests.compaction.loopback import Caller, completion, events, failure, serving

COUNTER = RoughCounter()
GOOD = "## Key Decisions\n- " + "\n- ".join(PROBE_FACTS)
REPORTED = Usage(input_tokens=600, output_tokens=101)


def probed(**reply):
    fields = {"text": GOOD, "model": "small-model", "usage": REPORTED, "duration_ms": 2_500, "first_token_ms": 500}
    return probe_endpoint(ScriptedSummarizer([Reply(**{**fields, **reply})], "small-model"), COUNTER)


def test_a_good_answer_shows_speed_latency_and_a_sample_without_warnings():
    probe = probed()
    assert probe.is_usable and probe.sample == GOOD
    assert (probe.first_token_ms, probe.duration_ms) == (500, 2_500)
    assert (probe.tokens_per_second, probe.is_speed_estimated) == (50.0, False)
    assert probe.pass_seconds == 30.5
    assert (probe.facts_kept, probe.facts_asked) == (4, 4)


@pytest.mark.parametrize(
    ("reply", "warning"),
    [
        ({"reasoning": "let me see"}, ProbeWarning.REASONS),
        ({"usage": replace(REPORTED, reasoning_tokens=40)}, ProbeWarning.REASONS),
        ({"text": f"<think>let me see</think>{GOOD}"}, ProbeWarning.REASONS),
        ({"duration_ms": 20_500}, ProbeWarning.SLOW),
        ({"usage": Usage()}, ProbeWarning.USAGE_UNKNOWN),
        ({"model": "another-model"}, ProbeWarning.OTHER_MODEL),
        ({"text": "## Key Decisions\n- round once, in src/billing/invoice.py"}, ProbeWarning.FACTS_LOST),
    ],
)
def test_what_somebody_should_know_is_a_warning(reply, warning):
    assert warning in probed(**{"duration_ms": 900, **reply}).warnings


def test_a_fast_and_faithful_model_gets_no_warning():
    assert probed(duration_ms=900).warnings == ()
    assert probed(duration_ms=900, model="provider/small-model-2026-01-01").warnings == ()
    assert probed(duration_ms=900, usage=replace(REPORTED, reasoning_tokens=0)).warnings == ()


def test_speed_is_an_estimate_where_no_tokens_are_reported():
    probe = probed(usage=Usage())
    assert probe.is_speed_estimated
    assert probe.tokens_per_second == round((COUNTER.count(GOOD) - 1) / 2.0, 1)


def test_an_answer_that_comes_whole_is_timed_as_a_whole():
    assert probed(first_token_ms=None).tokens_per_second == 40.4
    assert probed(first_token_ms=2_499).tokens_per_second == 40.4


def test_an_answer_that_can_not_be_used_names_the_reason_and_still_shows_its_speed():
    probe = probed(finish_reason="length")
    assert (probe.is_usable, probe.reason, probe.sample) == (False, "length", "")
    assert probe.tokens_per_second == 50.0
    assert (probe.facts_kept, probe.facts_asked) == (None, None)


def test_thinking_instead_of_an_answer_is_unusable_and_warned_of():
    probe = probed(text="", reasoning="I think about it")
    assert (probe.reason, ProbeWarning.REASONS in probe.warnings) == ("thinking_only", True)


def test_a_failed_call_is_told_without_invented_figures():
    with serving(failure(401, "no such key")) as server:
        probe = probe_endpoint(Caller(server.url).summarizer(), COUNTER)
    assert (probe.is_usable, probe.reason, probe.detail) == (False, "http_401", "HTTP 401: no such key")
    assert (probe.tokens_per_second, probe.pass_seconds, probe.served_model, probe.warnings) == (None, None, None, ())


def test_an_endpoint_is_asked_for_a_stream_and_with_the_prompt_passes_use():
    chunk = {"model": "small-model", "choices": [{"delta": {"content": GOOD}, "finish_reason": "stop"}]}
    usage = {"choices": [], "usage": {"prompt_tokens": 600, "completion_tokens": 100}}
    with serving(events(chunk, usage, "[DONE]")) as server:
        probe = probe_endpoint(Caller(server.url, real_time=True).summarizer(), COUNTER)
        [asked] = server.asked
    assert asked.body["stream"] is True
    assert "<transcript_part>" in asked.body["messages"][1]["content"]
    assert all(fact in asked.body["messages"][1]["content"] for fact in PROBE_FACTS)
    assert probe.is_usable and probe.first_token_ms is not None
    assert probe.usage == Usage(600, 100)


def test_endpoints_are_compared_on_the_same_question():
    request = probe_request(COUNTER)
    with serving(completion(GOOD)) as good, serving(failure(500)) as bad:
        probes = compare_endpoints([Caller(good.url).summarizer(), Caller(bad.url).summarizer()], COUNTER, request)
        assert [asked.body["messages"] for asked in good.asked] == [bad.asked[0].body["messages"]]
    assert [probe.reason for probe in probes] == ["", "http_500"]
    assert probes[0].facts_kept is None


def test_a_window_too_small_for_any_summary_is_said_so():
    summarizer = ScriptedSummarizer([Reply(text=GOOD)])
    assert probe_endpoint(summarizer, COUNTER).is_usable
    with pytest.raises(InvalidInput, match="a window of 2,000 tokens is too small"):
        probe_request(COUNTER, 2_000)
