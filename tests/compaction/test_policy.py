"""Reading policies: every key honoured or reported, nothing corrected in silence."""

import math

import pytest

from compaction.errors import InvalidPolicy
from compaction.main_model import read_main_model
from compaction.policy import AUXILIARY_SETTINGS, COMPRESSION_SETTINGS, CompactionPolicy, MicroWhen, TailMode
from compaction.policy_reading import read_layers
from compaction.settings import Severity
from compaction.threshold import Window, effective_threshold
from compaction.unused_settings import UNUSED_COMPRESSION_SETTINGS


def read(**compression):
    return CompactionPolicy.from_mapping({"compression": compression})


def only_problem(reading):
    assert len(reading.problems) == 1, reading.problems
    return reading.problems[0]


def test_an_empty_configuration_gives_the_defaults_and_no_problems():
    reading = CompactionPolicy.from_mapping({})
    assert reading.policy == CompactionPolicy()
    assert reading.problems == ()
    assert reading.source_of("compression.threshold") == "default"


def test_a_policy_written_out_reads_back_equal_and_without_problems():
    policy = CompactionPolicy(
        micro_compact=True,
        micro_compact_when=MicroWhen.CACHE_COLD,
        tail_mode=TailMode.LEAN,
        threshold_tokens=50_000,
        model_thresholds=(("gpt-5.1", 0.6), ("azure:gpt", 0.7)),
    )
    reading = CompactionPolicy.from_mapping(policy.to_mapping())
    assert reading.policy == policy
    assert reading.problems == ()


def test_every_setting_tells_what_it_is_why_its_default_is_and_where_it_stands():
    for name, setting in (*COMPRESSION_SETTINGS, *AUXILIARY_SETTINGS):
        assert setting.label and setting.group and setting.meaning and setting.why, name


def test_every_key_of_a_foreign_configuration_is_honoured_or_reported_with_a_reason():
    for setting in UNUSED_COMPRESSION_SETTINGS:
        problem = only_problem(read(**{setting.key: setting.default}))
        assert problem.severity is Severity.NOT_USED
        assert problem.message == f"not used here: {setting.meaning}"


@pytest.mark.parametrize("written", ["true", "yes", "on", "1", "TRUE", True, 1])
def test_a_switch_takes_every_usual_word_for_on(written):
    reading = read(micro_compact=written)
    assert reading.policy.micro_compact is True
    assert reading.problems == ()


@pytest.mark.parametrize("written", ["false", "no", "off", "0", "Off", False, 0])
def test_a_switch_takes_every_usual_word_for_off(written):
    reading = read(threshold_floor=written)
    assert reading.policy.threshold_floor is False
    assert reading.problems == ()


@pytest.mark.parametrize(
    ("key", "written", "effective"),
    [
        ("threshold", "abc", 0.5),
        ("threshold", math.nan, 0.5),
        ("threshold", math.inf, 0.5),
        ("threshold", None, 0.5),
        ("threshold", [0.5], 0.5),
        ("threshold", True, 0.5),
        ("micro_compact", "maybe", False),
        ("micro_compact_every_n_turns", 2.7, 1),
        ("micro_compact_every_n_turns", True, 1),
        ("micro_compact_every_n_turns", "", 1),
        ("micro_compact_defrag_threshold_tokens", 99.9, 2_000),
        ("threshold_tokens", 1.9, None),
        ("tail_mode", "weird", TailMode.RATIO),
        ("tail_mode", 3, TailMode.RATIO),
        ("model_thresholds", 0.5, ()),
    ],
)
def test_a_wrong_type_gives_one_error_and_the_default(key, written, effective):
    reading = read(**{key: written})
    assert getattr(reading.policy, key) == effective
    problem = only_problem(reading)
    assert (problem.severity, problem.key) == (Severity.ERROR, f"compression.{key}")
    assert problem in reading.errors


@pytest.mark.parametrize(
    ("key", "written", "effective"),
    [
        ("threshold", 1.5, 1.0),
        ("threshold", 0, 0.05),
        ("threshold", -1, 0.05),
        ("threshold", 10**400, 1.0),
        ("target_ratio", 0.05, 0.10),
        ("target_ratio", 0.9, 0.80),
        ("micro_compact_every_n_turns", 0, 1),
        ("micro_compact_every_n_turns", -3, 1),
        ("micro_compact_defrag_threshold_tokens", 0, 1),
        ("protect_first_n", -3, 0),
        ("min_tail_user_messages", 0, 1),
        ("proactive_prune_min_result_chars", 10, 200),
        ("proactive_prune_tokens", -1, 0),
        ("threshold_tokens", 0, None),
        ("micro_compact", 2, True),
    ],
)
def test_a_value_out_of_range_is_clamped_and_says_so(key, written, effective):
    reading = read(**{key: written})
    assert getattr(reading.policy, key) == effective
    problem = only_problem(reading)
    assert problem.severity is Severity.CLAMPED
    assert reading.errors == ()


def test_a_percentage_is_met_with_a_hint_at_the_share():
    assert "write 0.6 for 60 %" in only_problem(read(threshold=60)).message


@pytest.mark.parametrize(("written", "effective"), [("5", 5), ("1_000", 1_000), ("2,000", 2_000), ("2e3", 2_000)])
def test_a_number_written_as_text_is_that_number(written, effective):
    reading = read(micro_compact_every_n_turns=written)
    assert reading.policy.micro_compact_every_n_turns == effective
    assert reading.problems == ()


def test_legacy_is_another_word_for_the_ratio_tail():
    reading = read(tail_mode="Legacy")
    assert reading.policy.tail_mode is TailMode.RATIO
    assert reading.problems == ()


def test_ratios_by_model_that_are_no_numbers_are_left_out_one_by_one():
    reading = read(model_thresholds={"a": 0.5, "b": "0.7", "c": True, "d": 1, "e": 7})
    assert reading.policy.model_thresholds == (("a", 0.5), ("d", 1.0), ("e", 1.0))
    assert [problem.key.rpartition(".")[2] for problem in reading.problems] == ["b", "c", "e"]


def test_unknown_keys_are_kept_and_reported():
    mapping = {"compression": {"future": [1], "protect_last_n": 7}, "auxiliary": {"compression": {"extra": {"a": 1}}}}
    reading = CompactionPolicy.from_mapping(mapping)
    assert [problem.severity for problem in reading.problems] == [
        Severity.UNKNOWN,
        Severity.NOT_USED,
        Severity.UNKNOWN,
    ]
    written = reading.to_mapping()
    assert written["compression"]["future"] == [1]
    assert written["compression"]["protect_last_n"] == 7
    assert written["auxiliary"]["compression"]["extra"] == {"a": 1}
    again = CompactionPolicy.from_mapping(written)
    assert again.policy == reading.policy
    assert again.kept == reading.kept


def test_a_key_of_an_endpoint_is_neither_kept_nor_shown():
    secret = "sk-live-0123456789abcdef"
    mapping = {
        "auxiliary": {
            "compression": {"api_key": secret, "base_url": f"https://me:{secret}@host/v1"},
            "vision": {"api_key": secret, "model": "m"},
        }
    }
    reading = CompactionPolicy.from_mapping(mapping)
    assert secret not in repr(reading)
    assert reading.policy.auxiliary.base_url == ""
    assert reading.to_mapping()["auxiliary"]["vision"] == {"model": "m"}


def test_an_address_that_is_none_is_refused():
    for written in ("ftp://host", "host:80", "http://", "http://[::1"):
        reading = CompactionPolicy.from_mapping({"auxiliary": {"compression": {"base_url": written}}})
        assert reading.policy.auxiliary.base_url == ""
        assert only_problem(reading).severity is Severity.ERROR


def test_blocks_of_the_wrong_shape_are_left_out_with_one_message_each():
    reading = CompactionPolicy.from_mapping({"compression": [1], "auxiliary": {"compression": "fast"}})
    assert reading.policy == CompactionPolicy()
    assert [problem.key for problem in reading.problems] == ["compression", "auxiliary.compression"]


def test_assignments_of_a_command_line_win_over_everything():
    reading = CompactionPolicy(threshold=0.6).with_settings(
        ["threshold=0.8", "compression.threshold_tokens=none", "model_thresholds.gpt-5.1=0.7"]
    )
    assert reading.policy.threshold == 0.8
    assert reading.policy.threshold_tokens is None
    assert reading.policy.model_thresholds == (("gpt-5.1", 0.7),)
    assert reading.source_of("compression.threshold") == "command line"


def test_assignments_may_set_the_summarizer():
    policy = CompactionPolicy().with_settings(["auxiliary.compression.context_length=8192"]).policy
    assert policy.auxiliary.window_tokens == 8_192


@pytest.mark.parametrize("assignment", ["threshold", "threshold=abc", "treshold=0.5", "protect_last_n=3", "a.b=1"])
def test_an_assignment_that_would_do_nothing_or_harm_is_refused(assignment):
    with pytest.raises(InvalidPolicy):
        CompactionPolicy().with_settings([assignment])


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("bogus=1", "compression.bogus: this key is not known"),
        ("threshold=abc", "compression.threshold: 'abc' is not a number"),
        ("model_thresholds.gpt-5.1=abc", "compression.model_thresholds.gpt-5.1: 'abc' is not a number"),
        (
            "auxiliary.compression.base_url=ftp://host",
            "auxiliary.compression.base_url: an address starts with http:// or https://",
        ),
    ],
)
def test_a_refused_assignment_says_what_is_wrong_and_not_what_would_be_used_instead(assignment, sentence):
    with pytest.raises(InvalidPolicy) as caught:
        CompactionPolicy().with_settings([assignment])
    assert str(caught.value) == sentence


def test_a_clamped_assignment_is_taken_and_reported():
    reading = CompactionPolicy().with_settings(["micro_compact_every_n_turns=0"])
    assert reading.policy.micro_compact_every_n_turns == 1
    assert only_problem(reading).severity is Severity.CLAMPED


def test_the_main_model_and_its_window_are_read_from_their_block():
    assert read_main_model("big").model.model == "big"
    block = {"default": "big", "provider": "local", "context_length": 96_000, "max_tokens": 8_000}
    found = read_main_model(block).model
    assert (found.model, found.provider, found.window.input_tokens) == ("big", "local", 88_000)
    assert read_main_model(None).model.window.context_tokens is None
    assert only_problem(read_main_model({"context_length": "big"})).key == "model.context_length"


@pytest.mark.parametrize(
    ("compression", "requested", "effective"),
    [
        ({"threshold": 0.6}, "0.6", 196_608),
        ({"threshold": 1.5}, "1.5", 222_822),
        ({"threshold": -1}, "-1", 196_608),
        ({"threshold": 0}, "0", 196_608),
        ({"threshold": "abc"}, "abc", 196_608),
    ],
)
def test_c01_requested_and_effective_threshold_are_both_told_with_the_reason(compression, requested, effective):
    reading = CompactionPolicy.from_mapping({"compression": compression})
    found = effective_threshold(reading.policy, Window(262_144))
    assert found.tokens == effective
    told = [problem.given for problem in reading.problems] or [str(reading.policy.threshold)]
    assert told == [requested]
    assert reading.problems or [step.value for step in found.steps] == [157_286, 196_608]


@pytest.mark.parametrize(("written", "effective"), [(0, 1), (-3, 1), (2.7, 1), ("5", 5), (True, 1)])
def test_c01_a_cadence_below_one_is_never_read_as_off(written, effective):
    reading = read(micro_compact=True, micro_compact_every_n_turns=written)
    assert reading.policy.micro_compact_every_n_turns == effective
    assert reading.policy.runs_micro
    assert len(reading.problems) == (written != "5")


def test_c05_precedence_is_default_then_layers_then_command_line_and_each_value_names_its_layer():
    reading = read_layers(
        (
            ("file", {"compression": {"threshold": 0.5, "target_ratio": 0.3}}),
            ("session", {"compression": {"threshold": 0.7}}),
        )
    )
    assert (reading.policy.threshold, reading.policy.target_ratio) == (0.7, 0.3)
    assert reading.source_of("compression.threshold") == "session"
    assert reading.source_of("compression.target_ratio") == "file"
    assert reading.source_of("compression.protect_first_n") == "default"


def test_c05_the_environment_sets_no_policy(monkeypatch):
    for name in ("CTX_THRESHOLD", "HERMES_COMPRESSION_THRESHOLD", "COMPRESSION_THRESHOLD"):
        monkeypatch.setenv(name, "0.9")
    assert read(threshold=0.7).policy.threshold == 0.7
    assert read().policy == CompactionPolicy()


def test_c05_children_of_a_disabled_section_are_inert():
    reading = read(enabled=False, micro_compact=True)
    assert not reading.policy.runs_batch
    assert not reading.policy.runs_micro
    assert only_problem(reading).key == "compression.micro_compact"


def test_c05_a_value_of_a_stronger_layer_that_cannot_be_used_leaves_the_weaker_one():
    layers = (("file", {"compression": {"threshold": 0.7}}), ("session", {"compression": {"threshold": "abc"}}))
    reading = read_layers(layers)
    assert reading.policy.threshold == 0.7
    assert reading.source_of("compression.threshold") == "file"
    assert only_problem(reading).severity is Severity.ERROR


def test_c06_a_setting_outside_the_schema_is_refused_and_changes_nothing():
    policy = CompactionPolicy(threshold=0.6)
    for assignment in ("compression.nonsense=1", "compression[0]=1", "auxiliary.compression.nonsense=1"):
        with pytest.raises(InvalidPolicy, match="not known"):
            policy.with_settings(["threshold=0.9", assignment])
    assert policy == CompactionPolicy(threshold=0.6)


def test_c07_a_summarizer_window_is_read_from_the_configuration_and_wins_over_a_catalogue():
    block = {"provider": "local", "model": "flash-x", "context_length": 1_048_576}
    reading = CompactionPolicy.from_mapping({"compression": {"threshold": 0.9}, "auxiliary": {"compression": block}})
    assert reading.policy.auxiliary.window_tokens == 1_048_576
    assert reading.source_of("auxiliary.compression.context_length") == "project"
    assert effective_threshold(reading.policy, Window(1_000_000), aux_window_tokens=256_000).tokens == 900_000


def test_c09_a_chain_of_fallback_models_is_never_walked_and_the_reason_is_told():
    chain = [{"provider": "none"}, {"provider": "small"}, {"provider": "good"}]
    reading = CompactionPolicy.from_mapping({"auxiliary": {"compression": {"fallback_chain": chain}}})
    assert only_problem(reading).severity is Severity.NOT_USED
    assert "there is no second model" in only_problem(reading).message


def test_reading_never_raises_for_what_a_mapping_holds():
    compression = {"x": {(1, 2): 3}, "threshold": {1: object()}, 7: 8, "tail_mode": b"lean"}
    reading = CompactionPolicy.from_mapping({"compression": compression, "auxiliary": {9: [object()]}})
    assert reading.policy == CompactionPolicy()
    assert len(reading.problems) == 5
