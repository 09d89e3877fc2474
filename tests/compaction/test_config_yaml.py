"""Settings as YAML text, and the traps in it."""

import pytest

from compaction.config_yaml import read_config_yaml, read_policy_yaml, write_policy_yaml
from compaction.errors import InvalidPolicy
from compaction.policy import CompactionPolicy, TailMode
from compaction.settings import Severity


def by_key(reading):
    return {problem.key.rpartition(".")[2]: problem for problem in reading.problems}


def test_a_policy_written_as_yaml_reads_back_equal_and_without_problems():
    policy = CompactionPolicy(tail_mode=TailMode.LEAN, model_thresholds=(("qwen3:8b", 0.6), ("4.1", 0.7)))
    reading = read_policy_yaml(write_policy_yaml(policy))
    assert reading.policy == policy
    assert reading.problems == ()


def test_problems_of_values_carry_the_line_of_their_key():
    reading = read_policy_yaml("model: big\ncompression:\n  # a comment\n  threshold: 1.5\n  tail_mode: x\n")
    assert [(problem.line, problem.severity) for problem in reading.problems] == [
        (4, Severity.CLAMPED),
        (5, Severity.ERROR),
    ]


def test_scalars_that_programs_read_differently_are_taken_as_meant_and_noted():
    reading = read_policy_yaml(
        "compression:\n  micro_compact: yes\n  threshold_tokens: 70_000\n  summary_tokens_ceiling: 2e3\n"
        "  protect_first_n: 017\n"
    )
    policy = reading.policy
    assert policy.micro_compact is True
    assert (policy.threshold_tokens, policy.summary_tokens_ceiling, policy.protect_first_n) == (70_000, 2_000, 17)
    assert {problem.severity for problem in reading.problems} == {Severity.NOTE}
    assert [problem.line for problem in reading.problems] == [2, 3, 4, 5]


def test_a_key_with_another_problem_gets_no_note_beside_it():
    reading = read_policy_yaml("compression:\n  threshold: 1_000\n  tail_mode: yes\n")
    assert [problem.severity for problem in reading.problems] == [Severity.CLAMPED, Severity.ERROR]


def test_quoted_words_need_no_note():
    assert read_policy_yaml("compression:\n  micro_compact: 'yes'\n").problems == ()


def test_a_key_written_twice_is_an_error_and_the_last_value_counts():
    reading = read_policy_yaml("compression:\n  threshold: 0.6\n  threshold: 0.7\n")
    assert reading.policy.threshold == 0.7
    assert [problem.line for problem in reading.errors] == [3]
    assert "first in line 2" in reading.errors[0].message


def test_a_block_written_twice_is_an_error_too():
    reading = read_policy_yaml("compression:\n  threshold: 0.6\ncompression:\n  target_ratio: 0.3\n")
    assert (reading.policy.threshold, reading.policy.target_ratio) == (0.5, 0.3)
    assert len(reading.errors) == 1


def test_tabs_are_explained_with_their_line():
    with pytest.raises(InvalidPolicy, match="line 2: a tab can't indent"):
        read_policy_yaml("compression:\n\tthreshold: 0.6\n")


def test_aliases_and_merge_keys_are_followed_and_own_keys_win():
    text = "base: &base {threshold: 0.7, protect_first_n: 5}\ncompression:\n  <<: *base\n  threshold: 0.6\n"
    reading = read_policy_yaml(text)
    assert (reading.policy.threshold, reading.policy.protect_first_n) == (0.6, 5)
    assert reading.problems == ()


def laughs(link: str) -> str:
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{n}: &a{n} {link.format(', '.join([f'*a{n - 1}'] * 10))}" for n in range(1, 10)]
    return "\n".join([*lines, "compression: *a9"]) + "\n"


@pytest.mark.parametrize("link", ["{{v: [{}]}}", "{{<<: [{}]}}"])
def test_a_file_built_to_exhaust_memory_is_refused(link):
    with pytest.raises(InvalidPolicy, match=r"more than 10,000 values|nested too deeply"):
        read_policy_yaml(laughs(link))


@pytest.mark.parametrize(
    "text",
    [
        "compression: &a\n  more: *a\n",
        "[" * 50_000,
        "- a list",
        "a: 1\n---\nb: 2\n",
        "compression: {threshold: \x01}",
        "compression: *nowhere",
        "compression: {threshold: 0.5",
        b"\xff\xfe\x00",
        "x" * 1_000_001,
    ],
)
def test_a_text_that_is_no_settings_file_is_refused_with_a_reason(text):
    with pytest.raises(InvalidPolicy) as caught:
        read_policy_yaml(text)
    assert caught.value.where


def test_tags_construct_nothing_and_only_the_blocks_of_interest_are_looked_at():
    text = "other: !!python/object/apply:os.abort []\ncompression:\n  threshold: !!python/name:os.abort 0.7\n"
    reading = read_policy_yaml(text)
    assert reading.policy == CompactionPolicy()
    assert "not allowed" in by_key(reading)["threshold"].message


def test_infinities_nulls_and_huge_numbers_are_named_one_by_one():
    reading = read_policy_yaml(
        f"compression:\n  threshold: .nan\n  target_ratio: .inf\n  protect_first_n:\n"
        f"  proactive_prune_tokens: {'9' * 5000}\n  micro_compact_every_n_turns: 0{'7' * 5000}\n"
    )
    assert reading.policy == CompactionPolicy()
    assert set(by_key(reading)) == {
        "threshold",
        "target_ratio",
        "protect_first_n",
        "proactive_prune_tokens",
        "micro_compact_every_n_turns",
    }


def test_an_empty_file_is_an_empty_configuration():
    assert read_policy_yaml("").policy == CompactionPolicy()
    assert read_policy_yaml("# nothing\n").problems == ()
    assert read_policy_yaml("\ufeffcompression:\n  threshold: 0.6\n".encode()).policy.threshold == 0.6


def test_a_secret_is_not_repeated_in_a_message():
    text = "auxiliary:\n  compression:\n    api_key: sk-live-0123456789\n    api_key: sk-live-abcdefghij\n"
    assert "sk-live" not in repr(read_policy_yaml(text))


def test_the_model_block_is_read_beside_the_policy():
    mapping = read_config_yaml("model: {default: big, context_length: 1000000}\nother: 1\n")
    assert mapping == {"model": {"default": "big", "context_length": 1_000_000}}
