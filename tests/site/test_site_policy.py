"""The operator's settings for all projects: one YAML file, read at the start or refused with its line."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from hermes_site.site_policy import NAME, site_policy


def policy_in(tmp_path, text):
    file = tmp_path / "site.yaml"
    file.write_text(text)
    return site_policy({NAME: str(file)})


def test_without_a_file_the_site_sets_nothing():
    assert site_policy({}) == {}


def test_the_two_blocks_of_the_file_are_taken_without_keys(tmp_path):
    text = "model: big\ncompression:\n  threshold: 0.6\nauxiliary:\n  compression: {model: small, api_key: sk-abc}\n"
    assert policy_in(tmp_path, text) == {
        "compression": {"threshold": 0.6},
        "auxiliary": {"compression": {"model": "small"}},
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("compression:\n  threshold: abc\n", "line 2, compression.threshold: 'abc' is not a number"),
        ("compression:\n  threshold: 7\n", "line 2, compression.threshold: 7 is out of range"),
        ("compression:\n  treshold: 0.6\n", "line 2, compression.treshold: this key is not known"),
        ("compression: [\n", "line 2"),
        ("- 1\n", "does not hold keys with values"),
    ],
)
def test_a_file_that_cannot_be_meant_stops_the_start_with_its_line(tmp_path, text, words):
    with pytest.raises(ImproperlyConfigured) as refused:
        policy_in(tmp_path, text)
    assert words in str(refused.value)
    assert NAME in str(refused.value)


def test_a_file_that_is_not_there_stops_the_start(tmp_path):
    with pytest.raises(ImproperlyConfigured, match="can't be read"):
        site_policy({NAME: str(tmp_path / "nothing.yaml")})
