import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.exceptions import ImproperlyConfigured

from hermes_site.secret_key import load_or_create_secret_key


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path):
    path = tmp_path / "var" / "secret_key"
    key = load_or_create_secret_key(path)
    assert len(key) >= 50
    assert load_or_create_secret_key(path) == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_many_that_start_at_once_agree_on_one_key(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _: load_or_create_secret_key(tmp_path / "secret_key"), range(64)))
    assert len(keys) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]


def test_an_empty_key_is_refused_rather_than_used(tmp_path):
    (tmp_path / "secret_key").write_text("\n")
    with pytest.raises(ImproperlyConfigured, match="is empty"):
        load_or_create_secret_key(tmp_path / "secret_key")


def test_a_place_where_no_key_can_be_kept_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ImproperlyConfigured, match="can't be kept in .*/file/secret_key .*; set HERMES_SITE_VAR_DIR"):
        load_or_create_secret_key(tmp_path / "file" / "secret_key")


def test_a_key_that_is_not_text_is_refused_in_the_same_words(tmp_path):
    (tmp_path / "secret_key").write_bytes(b"\xff\xfe")
    with pytest.raises(ImproperlyConfigured, match="can't be kept in .*it is not text.*set HERMES_SITE_VAR_DIR"):
        load_or_create_secret_key(tmp_path / "secret_key")
