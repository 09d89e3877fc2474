"""`python -m compaction` on files, as a user runs it."""

import json

import pytest

from compaction.__main__ import main
from compaction.wire import message_to_openai
from tests.compaction.transcripts import assistant, call, chat, result, system, user


@pytest.fixture
def transcript(tmp_path):
    messages = [row.message for row in chat(60, 100)]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([message_to_openai(message) for message in messages]), encoding="utf-8")
    return str(path)


def lines(capsys):
    return capsys.readouterr().out.splitlines()


def test_replay_prints_one_json_object_a_line_and_the_result_last(transcript, capsys):
    assert main(["replay", transcript, "--window", "8000", "--tokens", "rough", "--json"]) == 0
    records = [json.loads(line) for line in lines(capsys)]
    assert [record["type"] for record in records] == ["step"] * 60 + ["result"]
    assert records[-1]["rows"] == 121
    assert records[-1]["archived_rows"] == records[-1]["outcomes"]["absorbed"] > 0


@pytest.mark.parametrize("policy", ["none", "micro", "batch", "micro+batch", "prune", "window"])
def test_every_policy_can_be_replayed(transcript, capsys, policy):
    assert main(["replay", transcript, "--window", "8000", "--tokens", "rough", "--policy", policy]) == 0
    assert f"policy {policy}: 60 turns, 121 rows" in lines(capsys)


def test_view_prints_provider_messages(transcript, capsys):
    assert main(["view", transcript, "--json"]) == 0
    messages = [json.loads(line) for line in lines(capsys)]
    assert messages[0]["role"] == "system"
    assert len(messages) == 121


def test_prune_and_tokens_tell_what_they_would_do_and_what_rows_cost(tmp_path, capsys):
    messages = [system(), user("read it"), assistant("", call("1")), result("1", "line\n" * 400), assistant("done")]
    messages += [user("and this"), assistant("", call("2")), result("2", "text\n" * 400), assistant("done")] * 6
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([message_to_openai(message) for message in messages]), encoding="utf-8")
    assert main(["prune", str(path), "--window", "4000", "--tokens", "rough"]) == 0
    assert "results in the middle would be shortened" in lines(capsys)[-1]
    assert main(["tokens", str(path), "--tokens", "rough"]) == 0
    assert any(line.startswith("tool") for line in lines(capsys))


def test_policy_prints_effective_values_with_their_source_and_the_steps_of_the_threshold(capsys):
    assert main(["policy", "--window", "200000", "--set", "threshold=0.6"]) == 0
    printed = lines(capsys)
    assert any(line.startswith("compression.threshold = 0.6") for line in printed)
    assert "threshold: 75 %, because the window is under 512,000: 150,000 tokens" in printed


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["view", "nowhere.json"], "no such file"),
        (["replay", "FILE"], "window is not known"),
        (["replay", "FILE", "--window", "0"], "at least 1"),
        (["replay", "FILE", "--window", "9000", "--policy", "hope"], "unknown policy"),
        (["replay", "FILE", "--window", "9000", "--summarizer", "psychic"], "unknown summarizer"),
        (["replay", "FILE", "--window", "9000", "--set", "nonsense"], "nonsense"),
        (["tokens", "FILE", "--session", "7"], "no session number 7"),
    ],
)
def test_bad_input_ends_with_status_2_and_one_line(transcript, capsys, arguments, complaint):
    assert main([transcript if word == "FILE" else word for word in arguments]) == 2
    said = capsys.readouterr().err.splitlines()
    assert complaint in said[-1]
