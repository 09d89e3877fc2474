"""When the embedded server can't run, one sentence says what is wrong and where."""

import os
import pwd
import stat

import psycopg
import pytest

from hermes_site.postgres.account import Account, server_account, user_name
from hermes_site.postgres.attachment import Attachment
from hermes_site.postgres.binaries import find_binaries, machine_folders
from hermes_site.postgres.complaint import complaint
from hermes_site.postgres.errors import ServerUnavailable
from hermes_site.postgres.locks import gate
from hermes_site.postgres.place import Place, find_place
from hermes_site.postgres.postmaster import leftovers
from hermes_site.postgres.server import ServerOptions


def refusal(home, options=None):
    """The sentence with which attaching is refused; nothing may be left running or locked afterwards."""
    attachment = Attachment(home, options or ServerOptions(is_durable=False))
    with pytest.raises(ServerUnavailable) as caught:
        attachment.attach("things")
    assert leftovers(home / "data") == []
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def put_program(folder, name, script):
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def put_postgres(folder, version, initdb="exit 1", server="exit 1"):
    """Programs that say they are PostgreSQL of some version."""
    put_program(
        folder, "postgres", f'if [ "$1" = --version ]; then echo "postgres (PostgreSQL) {version}"; exit; fi\n{server}'
    )
    put_program(folder, "initdb", initdb)
    return folder


def test_no_programs_at_all(home, open_folder):
    empty = open_folder / "empty"
    empty.mkdir()
    sentence = refusal(home, ServerOptions(str(empty)))
    assert sentence.startswith(f"No PostgreSQL programs found (HERMES_SITE_POSTGRES={empty})")
    assert "install PostgreSQL" in sentence and "DATABASE_URL" in sentence


def test_programs_too_old_for_the_site_count_as_none(home, open_folder):
    assert refusal(home, ServerOptions(str(put_postgres(open_folder / "old", "13.9")))).startswith("No PostgreSQL")


def test_programs_that_do_not_run_on_this_machine_count_as_none(home, open_folder):
    folder = put_postgres(open_folder / "broken", "16.1")
    (folder / "postgres").write_bytes(b"\x7fELF of another machine")
    assert refusal(home, ServerOptions(str(folder))).startswith("No PostgreSQL")


def test_data_of_a_major_version_that_is_not_here(home, data):
    (data / "PG_VERSION").write_text("12\n")
    sentence = refusal(home)
    assert sentence.startswith(f"The database in {data} was written by PostgreSQL 12, but only PostgreSQL")
    for binaries in find_binaries("any"):
        assert f"PostgreSQL {binaries.major} ({binaries.folder})" in sentence
    assert (data / "PG_VERSION").read_text() == "12\n"


def test_a_data_folder_without_a_readable_version(home, data):
    (data / "PG_VERSION").write_text("what\n")
    assert refusal(home).startswith(f"The database in {data} can't be read")


def test_a_data_folder_with_somebody_elses_files_is_left_alone(home, data):
    (data / "thesis.txt").write_text("precious")
    assert "Directory not empty" in refusal(home)
    assert (data / "thesis.txt").read_text() == "precious"


def test_too_little_space_is_found_before_anything_is_written(home):
    sentence = refusal(home, ServerOptions(fresh_data_bytes=10**18))
    assert sentence == (
        f"The database could not be set up: there is no space left on the disk of {home}; free some and start again."
    )
    assert not (home / "data").exists()


def test_space_that_runs_out_during_set_up(home, open_folder):
    full = put_postgres(
        open_folder / "full",
        "16.1",
        initdb='echo "initdb: error: could not write to file \\"x\\": No space left on device" >&2; exit 1',
    )
    assert "there is no space left on the disk" in refusal(home, ServerOptions(str(full)))
    assert [path.name for path in home.iterdir() if path.is_dir()] == []


def test_space_that_runs_out_while_starting(home, open_folder):
    full = put_postgres(
        open_folder / "full",
        "16.1",
        initdb='for x in "$@"; do [ "$last" = -D ] && echo 16 > "$x/PG_VERSION"; last=$x; done; exit 0',
        server='echo "2026-01-01 10:00 UTC [7] FATAL:  could not write lock file: No space left on device"; exit 1',
    )
    sentence = refusal(home, ServerOptions(str(full)))
    assert sentence.startswith("The database could not start: there is no space left on the disk of")
    assert str(home / "postgres.log") in sentence


def test_a_home_that_cannot_be_made(open_folder):
    (open_folder / "file").write_text("not a folder")
    sentence = refusal(open_folder / "file" / "postgres")
    assert sentence.startswith(f"The database can't be kept in {open_folder}/file/postgres")
    assert "HERMES_SITE_VAR_DIR" in sentence


def test_a_home_that_is_not_writable(plain_folder, without_rights):
    (plain_folder / "postgres").mkdir(mode=0o555)
    sentence = without_rights(lambda: refusal(plain_folder / "postgres"))
    assert f"The database can't be kept in {plain_folder}/postgres: it is not writable" in sentence


def test_data_of_another_user_is_not_touched(home, data):
    owner = data.stat().st_uid
    stranger = Place(home, home, Account("stranger", owner + 1, owner + 1))
    with pytest.raises(ServerUnavailable, match=rf"its data belongs to {user_name(owner)} \(tried as stranger\)"):
        stranger.prepare()


@pytest.mark.parametrize("kind", ["open to all", "a link", "a file"])
def test_a_socket_folder_that_somebody_else_could_have_made_is_not_used(home, kind):
    trap = home.parent / "trap"
    put_program(trap, ".s.PGSQL.5432", "of another server")
    sockets = find_place(home).sockets
    if kind == "open to all":
        trap.rename(sockets)
        sockets.chmod(0o777)
    elif kind == "a link":
        sockets.symlink_to(trap)
    else:
        sockets.write_text("")
    try:
        sentence = refusal(home)
        assert sentence.startswith(f"The socket folder {sockets} is taken")
        assert "remove it" in sentence
        assert (sockets / ".s.PGSQL.5432").exists() or kind == "a file"
    finally:
        sockets.rename(home.parent / "taken away")


def test_the_socket_folder_is_closed_to_other_users(home):
    attachment = Attachment(home, ServerOptions(is_durable=False))
    sockets = attachment.attach("things").sockets
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert attachment.detach() is True


def test_root_without_anybody_to_hand_the_server_to(home, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwall", lambda: [pwd.getpwuid(0)])
    with pytest.raises(ServerUnavailable, match="refuses to run as root and there is no unprivileged user") as caught:
        server_account(home / "data")
    assert "useradd --system postgres" in str(caught.value)


def test_a_gate_that_somebody_holds_too_long(home):
    home.mkdir()
    lock = home / "gate.lock"
    expected = pytest.raises(ServerUnavailable, match=f"the database for 0 seconds and holds {lock}")
    with gate(lock), expected, gate(lock, timeout_seconds=0.1):
        pass


def test_a_failed_attempt_does_not_stand_in_the_way_of_the_next(home):
    attachment = Attachment(home, ServerOptions(fresh_data_bytes=10**18))
    with pytest.raises(ServerUnavailable):
        attachment.attach("things")
    assert attachment.detach() is False
    second = Attachment(home, ServerOptions(is_durable=False))
    with psycopg.connect(second.attach("things").url) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert second.detach() is True


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ('FATAL:  could not create lock file "x": Read-only file system', "is on a read-only file system"),
        ('FATAL:  lock file "/tmp/x/.s.PGSQL.5432.lock" already exists', "its socket in /sockets is taken"),
        ('FATAL:  lock file "postmaster.pid" already exists', "another server already runs on /data"),
        ("FATAL:  could not map anonymous shared memory: Cannot allocate memory", "refuses it shared memory"),
        ('initdb: error: could not open "x": Permission denied', 'a permission is missing: could not open "x"'),
        ('initdb: error: invalid locale name "C.UTF-8"', "lacks the locale C.UTF-8"),
        ("x\nFATAL:  something new\nDETAIL:  more", "something new"),
        ("a last word.", "a last word"),
        ("", "it said nothing"),
    ],
)
def test_what_postgresql_says_becomes_one_sentence(output, reason, open_folder):
    sentence = str(complaint("start", output, data="/data", sockets="/sockets"))
    assert sentence.startswith("The database could not start: ")
    assert reason in sentence and sentence.endswith(".") and "\n" not in sentence


def test_the_newest_of_the_machines_versions_comes_first(open_folder):
    for version in ("9", "15", "16", "junk"):
        (open_folder / version / "bin").mkdir(parents=True)
    assert [folder.parent.name for folder in machine_folders(open_folder)] == ["16", "15", "9"]


def test_the_order_is_machine_then_path_then_wheel(open_folder, monkeypatch):
    for version in ("15", "17"):
        put_postgres(open_folder / "lib" / version / "bin", f"{version}.2 (Debian)")
    put_postgres(open_folder / "path", "16.0")
    monkeypatch.setattr("hermes_site.postgres.binaries.MACHINE_FOLDERS", open_folder / "lib")
    monkeypatch.setenv("PATH", f"{open_folder / 'path'}:{os.environ['PATH']}")
    found = [(binaries.origin, binaries.major) for binaries in find_binaries("any")]
    assert found[:3] == [("machine", 17), ("machine", 15), ("PATH", 16)]
    assert [origin for origin, _ in found[3:]] == ["wheel"]
    assert [binaries.origin for binaries in find_binaries("local")] == ["machine", "machine", "PATH"]
    assert [binaries.origin for binaries in find_binaries("wheel")] == ["wheel"]
