"""Editing a settings file keeps what its author wrote around the values."""

import pytest

from compaction.config_yaml import read_config_yaml
from compaction.config_yaml_editing import cut_blocks, outer_keys, put_blocks
from compaction.errors import InvalidPolicy

FILE = """\
# my agent
model:
  default: big   # the good one
providers:
  here: {api_key: "sk-do-not-touch"}
compression:
  # tried 0.5, too late
  threshold: 0.60  # sixty
  micro_compact: yes
  their_key: [1, 2]

auxiliary:
  vision:
    model: eyes
  compression:
    model: small   # fast
    api_key: sk-secret
"""
BLOCKS = {
    "compression": {"threshold": 0.6, "micro_compact": "yes", "their_key": [1, 2]},
    "auxiliary": {"vision": {"model": "eyes"}, "compression": {"model": "small", "api_key": "sk-secret"}},
    "model": {"default": "big"},
}


def test_values_that_are_as_wanted_leave_the_file_byte_for_byte():
    assert put_blocks(FILE, BLOCKS) == FILE


def test_a_changed_value_keeps_its_comment_and_everything_around_it():
    blocks = {**BLOCKS, "compression": {**BLOCKS["compression"], "threshold": 0.7}}
    assert put_blocks(FILE, blocks) == FILE.replace("0.60  # sixty", "0.7   # sixty")


def test_keys_go_and_come_without_moving_the_others():
    blocks = {**BLOCKS, "compression": {"threshold": 0.6, "their_key": [1, 2], "target_ratio": 0.3}}
    changed = put_blocks(FILE, blocks)
    assert read_config_yaml(changed)["compression"] == blocks["compression"]
    assert "# tried 0.5, too late" in changed and "# sixty" in changed and "sk-do-not-touch" in changed


def test_a_cut_file_has_its_blocks_with_comments_and_neither_other_blocks_nor_secrets():
    cut = cut_blocks(FILE)
    assert "sk-" not in cut and "providers" not in cut
    assert "# tried 0.5, too late" in cut and "# fast" in cut and "# the good one" in cut
    assert read_config_yaml(cut)["auxiliary"] == {"vision": {"model": "eyes"}, "compression": {"model": "small"}}


def test_blocks_are_put_into_an_empty_text_and_taken_out_of_a_full_one():
    text = put_blocks(
        "", {"compression": {"threshold": 0.6, "threshold_tokens": None, "model_thresholds": {"a:b": 0.3}}}
    )
    assert read_config_yaml(text) == {
        "compression": {"threshold": 0.6, "threshold_tokens": None, "model_thresholds": {"a:b": 0.3}}
    }
    assert outer_keys(put_blocks(FILE, {})) == ("providers",)
    assert put_blocks("compression:\n  threshold: 0.6\n", {}) == ""


def test_true_and_one_are_two_values():
    assert "micro_compact: true" in put_blocks(
        "compression:\n  micro_compact: 1\n", {"compression": {"micro_compact": True}}
    )


@pytest.mark.parametrize("text", ["compression: [", "- 1", "a: {b: 1\n"])
def test_what_can_not_be_read_is_not_edited(text):
    with pytest.raises(InvalidPolicy):
        put_blocks(text, {})


def test_a_tag_constructs_nothing():
    text = "other: !!python/object/apply:os.system ['true']\ncompression: {threshold: 0.6}\n"
    assert "0.7" in put_blocks(text, {"compression": {"threshold": 0.7}})
