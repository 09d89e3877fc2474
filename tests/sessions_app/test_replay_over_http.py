"""`manage.py replay --summarizer http`: a session replayed with a model that is asked at a real address."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from compaction.endpoints.gates import PROCESS_GATES
from compaction.extractive import ExtractiveSummarizer
from compaction.http_summarizer import HttpSummarizer
from compaction.policy import AuxiliaryModel, CompactionPolicy
from compaction.tokens import RoughCounter
from sessions_app.summarizers import MisconfiguredSummarizer, operator_rules, summarizer_for_policy
from tests.compaction.loopback import KEY, REQUEST, SUMMARY, completion, failure, serving

WORDS = "The parser keeps src/parser.py as it is and the tests stay green. " * 12


@pytest.fixture
def transcript(tmp_path):
    messages = []
    for turn in range(40):
        messages.append({"role": "user", "content": f"question {turn}"})
        messages.append({"role": "assistant", "content": f"answer {turn}: {WORDS}"})
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": messages}))
    return str(path)


def replay(transcript, *arguments):
    out, err = StringIO(), StringIO()
    call_command(
        "replay",
        "--file",
        transcript,
        "--summarizer=http",
        "--window=16000",
        "--tokens=rough",
        "--json",
        *arguments,
        stdout=out,
        stderr=err,
    )
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    return lines[:-1], lines[-1]


def at(server):
    return [f"--set=auxiliary.compression.base_url={server.url}", "--set=auxiliary.compression.model=small-model"]


def test_summaries_of_a_replay_come_from_the_endpoint(transcript):
    with serving(completion()) as server:
        steps, result = replay(transcript, *at(server))
        assert result["outcomes"]["absorbed"] == result["summarizer_calls"] == len(server.asked) > 5
        assert [step["summary"] for step in steps if step["outcome"] == "absorbed"][-1].startswith(SUMMARY)
        assert {asked.body["model"] for asked in server.asked} == {"small-model"}
        assert WORDS.strip() in server.asked[1].body["messages"][1]["content"]
        assert SUMMARY in server.asked[1].body["messages"][1]["content"]


def test_a_configuration_file_names_the_endpoint_and_its_key(transcript, tmp_path, monkeypatch):
    monkeypatch.setenv("TEAM_KEY", KEY)
    with serving(completion()) as server:
        config = tmp_path / "config.yaml"
        config.write_text(
            "auxiliary:\n  compression:\n    provider: custom\n"
            f"    model: from-file\n    base_url: {server.url}\n    key_env: TEAM_KEY\n"
        )
        replay(transcript, f"--config={config}")
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
        assert server.asked[0].body["model"] == "from-file"


def test_failures_change_nothing_and_keep_their_reason(transcript):
    with serving(failure(401, "no such key")) as server:
        steps, result = replay(transcript, *at(server))
        failed = [step for step in steps if step["outcome"] in ("summarize_failed", "exchange_skipped")]
        assert failed and {step["reason"] for step in failed} == {"http_401"}
        assert (result["archived_rows"], result["summary_rows"]) == (0, 0)
        assert result["live_rows"] == result["rows"] == 80


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "auxiliary.compression.base_url: no endpoint is set"),
        (["--set=auxiliary.compression.provider=openai"], "auxiliary.compression.model: name the model"),
        (["--set=auxiliary.compression.provider=nobody"], "'nobody' is not known"),
        (["--set=auxiliary.compression.base_url=http://me:pw@host.example"], "user name or password"),
    ],
)
def test_settings_without_an_endpoint_end_the_command_with_one_line(transcript, arguments, complaint):
    with pytest.raises(CommandError, match=complaint) as caught:
        replay(transcript, *arguments)
    assert caught.value.returncode == 2
    assert "\n" not in str(caught.value)
    assert "pw" not in str(caught.value)


def test_the_machine_s_metadata_service_is_out_of_reach_for_operators_too():
    assert operator_rules().refusal("169.254.169.254", ["169.254.169.254"])
    assert operator_rules().refusal("localhost", ["127.0.0.1"]) == ""


# Recorded passes


def summarizer(**fields):
    return summarizer_for_policy(CompactionPolicy(auxiliary=AuxiliaryModel(**fields)), RoughCounter())


def test_nothing_is_contacted_unless_an_endpoint_was_set():
    assert isinstance(summarizer(), ExtractiveSummarizer)
    assert isinstance(summarizer(provider="extractive", model="m"), ExtractiveSummarizer)


def test_a_policy_with_an_endpoint_asks_it_under_the_rules_of_the_installation(settings):
    with serving(completion()) as server:
        made = summarizer(base_url=server.url, model="m")
        assert isinstance(made, HttpSummarizer)
        assert made.ask(REQUEST).error == "address_refused"
        settings.OUTBOUND_RULES = operator_rules()
        assert summarizer(base_url=server.url, model="m").ask(REQUEST).text == SUMMARY


def test_settings_that_name_no_endpoint_fail_each_pass_with_the_reason():
    made = summarizer(provider="openai")
    assert isinstance(made, MisconfiguredSummarizer)
    reply = made.ask(REQUEST)
    assert (reply.error, reply.text) == ("no_endpoint", None)
    assert "name the model" in reply.error_detail
    assert "no endpoint is set" in summarizer(model="m").ask(REQUEST).error_detail


@pytest.fixture(autouse=True)
def fresh_gates():
    """Ports are used again, so breakers of one test must not meet the endpoints of the next."""
    yield
    PROCESS_GATES.forget()
