"""Environment variables mean exactly one thing or are refused by name."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from hermes_site import env


def refused(read, *mentioned):
    with pytest.raises(ImproperlyConfigured) as caught:
        read()
    for word in mentioned:
        assert word in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("value", "meaning"), [("1", True), ("Yes", True), ("off", False), ("", True), ("  ", True)])
def test_yes_and_no_are_read_in_any_case_and_blank_means_the_default(value, meaning):
    assert env.boolean("X", True, {"X": value}) is meaning


def test_a_word_that_is_neither_yes_nor_no_is_refused():
    refused(lambda: env.boolean("X", True, {"X": "ja"}), "X='ja'", "yes or no")


@pytest.mark.parametrize("value", ["ten", "1.5", "1_0", "٣", "-1", "501", "0x10"])
def test_a_number_that_is_none_or_out_of_bounds_is_refused(value):
    refused(lambda: env.integer("X", 1, 0, 500, {"X": value}), "X=", "whole number from 0 to 500")


def test_a_number_within_its_bounds_is_read():
    assert env.integer("X", 1, -5, 500, {"X": " -5 "}) == -5
    assert env.integer("X", 7, 0, 500, {}) == 7


def test_a_word_is_one_of_the_few_and_comes_back_as_it_is_spelled_here():
    assert env.word("X", "INFO", ("INFO", "DEBUG"), {"X": "debug"}) == "DEBUG"
    refused(lambda: env.word("X", "INFO", ("INFO", "DEBUG"), {"X": "loud"}), "X='loud'", "INFO, DEBUG")


def test_a_list_has_no_empty_entries():
    assert env.words("X", (), {"X": "a, b"}) == ("a", "b")
    assert env.words("X", ("d",), {}) == ("d",)
    refused(lambda: env.words("X", (), {"X": "a,,b"}), "X='a,,b'")


def test_a_word_or_a_folder_that_exists(tmp_path):
    assert env.word_or_folder("X", "any", ("any",), {"X": str(tmp_path)}) == str(tmp_path)
    assert env.word_or_folder("X", "any", ("any",), {}) == "any"
    for value in ("some", "relative/folder", str(tmp_path / "missing")):
        refused(lambda value=value: env.word_or_folder("X", "any", ("any",), {"X": value}), "absolute path of a folder")


def test_a_database_address_is_taken_apart():
    address = env.database_address("X", {"X": "postgresql://me:p%40ss@db.example:6000/things?sslmode=require"})
    assert (address.user, address.password, address.host, address.port) == ("me", "p@ss", "db.example", "6000")
    assert (address.name, address.options) == ("things", (("sslmode", "require"),))


def test_a_database_address_may_name_a_socket_folder():
    address = env.database_address("X", {"X": "postgres:///things?host=/run/postgresql"})
    assert (address.host, address.name) == ("/run/postgresql", "things")


@pytest.mark.parametrize(
    "value", ["mysql://me:secret@db/x", "secret", "postgresql://me:secret@db/", "postgresql://me:secret@db/x?nonsense=1"]
)
def test_a_database_address_that_means_nothing_is_refused_without_telling_its_password(value):
    sentence = refused(lambda: env.database_address("X", {"X": value}), "X=")
    assert "secret" not in sentence


def test_a_redis_address_needs_its_scheme():
    assert env.redis_url("X", {"X": "redis://localhost:6379/0"}) == "redis://localhost:6379/0"
    assert env.redis_url("X", {}) is None
    refused(lambda: env.redis_url("X", {"X": "localhost"}), "redis://")


@pytest.mark.parametrize("value", ["Mars/Phobos", "../etc/passwd", "/etc/localtime", "Europe"])
def test_a_time_zone_that_nobody_lives_in_is_refused(value):
    refused(lambda: env.time_zone("X", "UTC", {"X": value}), f"X={value!r}", "a time zone")


def test_a_time_zone_is_read_and_utc_is_no_exception():
    assert env.time_zone("X", "UTC", {"X": "Europe/Berlin"}) == "Europe/Berlin"
    assert env.time_zone("X", "UTC", {}) == "UTC"


def test_a_folder_is_made_absolute_and_a_home_of_nobody_refused(tmp_path):
    assert env.folder("X", tmp_path, {}) == tmp_path.resolve()
    assert env.folder("X", tmp_path, {"X": "~"}).is_absolute()
    refused(lambda: env.folder("X", tmp_path, {"X": "~no-such-user/var"}), "X='~no-such-user/var'", "a folder")
