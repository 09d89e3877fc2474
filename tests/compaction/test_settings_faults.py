"""Known faults of settings, on the files they were reported with."""

from pathlib import Path

import pytest

from compaction.config_yaml import read_config_yaml, read_policy_yaml
from compaction.main_model import read_main_model
from compaction.policy import CompactionPolicy
from compaction.policy_reading import read_layers
from compaction.threshold import ThresholdSource, Window, WindowSource, effective_threshold

FAULTS = Path(__file__).parents[1] / "data" / "bugs"


def config_of(name):
    return read_config_yaml((FAULTS / name).read_bytes())


def cases_of_c01():
    text = (FAULTS / "C01_out_of_range.yaml").read_text()
    return [line.partition("{")[2].partition("}")[0] for line in text.splitlines() if "{" in line]


@pytest.mark.parametrize("written", cases_of_c01())
def test_c01_whatever_is_written_gives_a_usable_policy_and_says_what_was_changed(written):
    reading = read_policy_yaml(f"compression: {{{written}}}\n")
    key = written.partition(":")[0]
    said = [problem for problem in reading.problems if problem.key == f"compression.{key}"]
    is_taken = written.startswith("threshold: 0.6") or "'5'" in written
    assert len(said) == (0 if is_taken else 1)
    assert 0.05 <= reading.policy.threshold <= 1
    assert reading.policy.micro_compact_every_n_turns >= 1
    assert reading.policy.micro_compact_defrag_threshold_tokens >= 1
    assert effective_threshold(reading.policy, Window(262_144)).tokens > 0


def test_c02_the_ratio_of_a_model_is_what_its_file_gives():
    config = config_of("C02_default_cap_vs_ratio.yaml")
    model = read_main_model(config["model"]).model
    policy = CompactionPolicy.from_mapping(config).policy
    found = effective_threshold(policy, model.window, model=model.model)
    assert (found.tokens, found.source) == (300_000, ThresholdSource.MODEL_OVERRIDE)
    assert model.window.source is WindowSource.SETTING


def test_c05_a_disabled_block_stays_disabled_whatever_a_session_or_the_environment_sets(monkeypatch):
    monkeypatch.setenv("CTX_THRESHOLD", "0.9")
    file = {"compression": {"enabled": False, "threshold": 0.5}}
    reading = read_layers((("file", file), ("session", {"compression": {"threshold": 0.7}})))
    assert not reading.policy.runs_batch and not reading.policy.runs_micro
    assert reading.policy.threshold == 0.7
    assert reading.source_of("compression.threshold") == "session"
    assert reading.source_of("compression.enabled") == "file"


def test_c07_the_window_of_the_summarizer_that_its_file_sets_is_taken():
    config = config_of("C07_aux_context_length.yaml")
    reading = CompactionPolicy.from_mapping(config)
    assert reading.policy.auxiliary.window_tokens == 1_048_576
    found = effective_threshold(reading.policy, Window(2_000_000), aux_window_tokens=256_000)
    assert found.source is ThresholdSource.DEFAULT
    assert found.tokens == 1_000_000


def test_e32_a_small_summarizer_lowers_the_threshold_and_is_named_as_the_reason():
    config = config_of("E32_aux_window_smaller.yaml")
    policy = CompactionPolicy.from_mapping(config).policy
    found = effective_threshold(policy, read_main_model(config["model"]).model.window)
    assert (found.tokens, found.source) == (8_192, ThresholdSource.AUXILIARY_WINDOW)
