"""The launcher's promises, on real servers: where it runs, who shares it, and what it survives."""

import os
import shutil
import signal
import threading
from pathlib import Path

import psutil
import psycopg
import pytest

from hermes_site.postgres import postmaster
from hermes_site.postgres.attachment import Attachment
from hermes_site.postgres.binaries import find_binaries
from hermes_site.postgres.place import find_place
from hermes_site.postgres.server import ServerOptions

EVERY_MAJOR = {binaries.major: str(binaries.folder) for binaries in find_binaries("any")}
# What a killed server has handed to the kernel is safe; only a crash of the machine asks for more.
QUICK = ServerOptions(is_durable=False)


def query(url, statement):
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None


def keep(url, word):
    query(url, "create table if not exists kept (word text)")
    query(url, f"insert into kept values ('{word}')")


def kept(url):
    return query(url, "select string_agg(word, ' ' order by word) from kept")


@pytest.mark.parametrize("name", ["with spaces and 'quotes'", "ünï-路径", "comma, semicolon; $HOME"])
def test_a_server_runs_below_any_folder_name(open_folder, processes_of, name):
    attachment = Attachment(open_folder / name / "postgres", QUICK)
    address = attachment.attach("things")
    assert query(address.url, "select current_database()") == "things"
    assert attachment.detach() is True
    assert processes_of(open_folder / name / "postgres") == []
    assert not address.sockets.exists()


def test_the_socket_path_stays_short_however_long_the_path_of_the_checkout_is(open_folder, use):
    deep = open_folder.joinpath(*(["a-rather-long-folder-name"] * 12)) / "postgres"
    assert len(str(deep)) > 300
    user = use(deep)
    assert query(user.facts["url"], "select 1") == 1
    assert len(f"{find_place(deep).sockets}/.s.PGSQL.5432") < 60
    assert user.detach() is True


@pytest.mark.parametrize("major", sorted(EVERY_MAJOR))
def test_the_database_speaks_utf8_sorts_by_code_point_and_listens_on_no_port(home, use, major):
    user = use(home, EVERY_MAJOR[major])
    url = user.facts["url"]
    assert query(url, "show server_version_num").startswith(str(major))
    assert query(url, "show server_encoding") == "UTF8"
    assert query(url, "select datcollate from pg_database where datname = 'things'") == "C.UTF-8"
    assert query(url, "select string_agg(x, '' order by x) from unnest(array['b', 'ä', 'A', 'a', '中']) x") == "Aabä中"
    assert query(url, "show listen_addresses") == ""
    assert user.postmaster.net_connections("inet") == []


def test_the_wheels_programs_run_when_the_machine_has_none(home, use, monkeypatch):
    monkeypatch.setattr("hermes_site.postgres.binaries.MACHINE_FOLDERS", home / "no such folder")
    monkeypatch.setenv("PATH", str(home))
    (found,) = find_binaries("any")
    assert found.origin == "wheel"
    attachment = Attachment(home, QUICK)
    url = attachment.attach("things").url
    assert query(url, "show server_version_num").startswith(str(found.major))
    query(url, "create extension pg_trgm")
    assert query(url, "select similarity('word', 'words') > 0.5") is True
    assert attachment.detach() is True


def test_existing_data_decides_which_programs_open_it(home, use):
    first = use(home, "wheel")
    keep(first.facts["url"], "kept")
    first.detach()
    second = use(home, "any")
    assert kept(second.facts["url"]) == "kept"
    assert query(second.facts["url"], "show server_version_num")[:2] == (home / "data" / "PG_VERSION").read_text()[:2]


def test_the_last_one_to_leave_stops_the_server(home, use, processes_of):
    first, second = use(home), use(home)
    assert first.facts["postmaster"] == second.facts["postmaster"]
    assert first.detach() is False
    assert query(second.facts["url"], "select 1") == 1
    assert second.detach() is True
    assert processes_of(home) == []


def test_four_that_start_at_once_share_one_server(home, use, processes_of):
    users = [use(home, wait=False) for _ in range(4)]
    assert len({user.attached()["postmaster"] for user in users}) == 1
    assert [user.detach() for user in users] == [False, False, False, True]
    assert processes_of(home) == []


def test_two_checkouts_run_at_once_and_know_nothing_of_each_other(open_folder, use):
    one, other = use(open_folder / "one" / "postgres"), use(open_folder / "other" / "postgres")
    keep(one.facts["url"], "one")
    keep(other.facts["url"], "other")
    assert (kept(one.facts["url"]), kept(other.facts["url"])) == ("one", "other")
    assert one.detach() is True
    assert kept(other.facts["url"]) == "other"


def test_after_kill_9_of_the_server_what_was_committed_is_there_again(home):
    attachment = Attachment(home, QUICK)
    keep(attachment.attach("things").url, "kept")
    victim = postmaster.find_postmaster(attachment.place.data)
    victim.kill()
    psutil.wait_procs(victim.children(recursive=True), timeout=30)
    # We are its parent and have not asked for its exit code: it is a zombie, which PostgreSQL takes for a server.
    assert victim.status() == psutil.STATUS_ZOMBIE
    assert postmaster.find_postmaster(attachment.place.data) is None
    assert attachment.is_server_alive() is False
    assert kept(attachment.attach("things").url) == "kept"
    assert attachment.detach() is True


def test_after_kill_9_of_its_starter_the_server_is_taken_over_and_stopped_by_the_next(home, use, processes_of):
    first = use(home)
    keep(first.facts["url"], "kept")
    first.kill()
    second = use(home)
    assert second.facts["postmaster"] == first.facts["postmaster"]
    assert kept(second.facts["url"]) == "kept"
    assert second.detach() is True
    assert processes_of(home) == []


def test_after_kill_9_of_both_the_next_start_recovers(home, use, processes_of):
    first = use(home)
    keep(first.facts["url"], "kept")
    first.postmaster.kill()
    first.kill()
    second = use(home)
    assert second.facts["postmaster"] != first.facts["postmaster"]
    assert kept(second.facts["url"]) == "kept"
    assert second.detach() is True
    assert processes_of(home) == []


def test_a_killed_server_leaves_no_shared_memory_behind(home, use):
    first = use(home)
    segments = {segment_of(home)}
    first.postmaster.kill()
    first.kill()
    second = use(home)
    segments.add(segment_of(home))
    second.detach()
    existing = {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}
    assert segments & existing == set()


def segment_of(home):
    """The number of the server's System V segment, as its pid file has it."""
    return (find_place(home).data / "postmaster.pid").read_text().splitlines()[6].split()[1]


def test_a_backend_too_busy_to_notice_the_death_of_its_server_does_not_block_the_next(home, use, monkeypatch):
    monkeypatch.setattr(postmaster, "LEFTOVER_TIMEOUT_SECONDS", 0.3)
    first = use(home)
    backend_number = query_in_background(first.facts["url"], "select count(*) from generate_series(1, 1e12)")
    backend = psutil.Process(backend_number)
    first.postmaster.kill()
    first.kill()
    attachment = Attachment(home, QUICK)
    assert query(attachment.attach("things").url, "select 1") == 1
    assert not postmaster.serves(backend, attachment.place.data)
    attachment.detach()


def query_in_background(url, statement):
    """Start a statement that is not waited for; returns the number of the process that runs it."""
    connection = psycopg.connect(url, autocommit=True)

    def run():
        with pytest.raises(psycopg.OperationalError):
            connection.execute(statement)

    number = connection.info.backend_pid
    threading.Thread(target=run, daemon=True).start()
    while not query(url, f"select count(*) from pg_stat_activity where pid = {number} and state = 'active'"):
        pass
    return number


def test_a_pid_file_naming_a_strangers_process_is_not_believed_and_the_stranger_lives(home, use):
    first = use(home)
    keep(first.facts["url"], "kept")
    first.detach()
    data = find_place(home).data
    stranger = use(home.parent / "other" / "postgres")
    for number in (os.getpid(), stranger.facts["postmaster"], 2**30):
        (data / "postmaster.pid").write_text(f"{number}\n{data}\n1700000000\n5432\n/tmp\n\n  1234 5678\nready   \n")
        assert postmaster.find_postmaster(data) is None
        user = use(home)
        assert kept(user.facts["url"]) == "kept"
        assert user.detach() is True
    assert query(stranger.facts["url"], "select 1") == 1


def test_a_server_whose_socket_was_swept_away_is_started_again(home, use):
    first = use(home)
    keep(first.facts["url"], "kept")
    shutil.rmtree(find_place(home).sockets)
    second = use(home)
    assert kept(second.facts["url"]) == "kept"
    assert second.facts["postmaster"] != first.facts["postmaster"]


def test_a_set_up_that_was_killed_half_way_is_done_again(home, use):
    half = home / "unfinished-x1" / "base"
    half.mkdir(parents=True)
    (half.parent / "PG_VERSION").write_text("15\n")
    user = use(home)
    assert query(user.facts["url"], "select 1") == 1
    assert not half.parent.exists()


def test_a_user_without_rights_runs_a_server_of_its_own(plain_folder, without_rights):
    def deed():
        attachment = Attachment(plain_folder / "postgres", QUICK)
        url = attachment.attach("things").url
        keep(url, "kept")
        owner = postmaster.find_postmaster(attachment.place.data).uids().effective
        return [os.geteuid(), owner, kept(url), str(attachment.place.home), attachment.detach()]

    user = plain_folder.stat().st_uid
    assert without_rights(deed) == [user, user, "kept", str(plain_folder / "postgres"), True]


def test_a_server_ended_by_hand_is_noticed_and_started_again(home):
    attachment = Attachment(home, QUICK)
    keep(attachment.attach("things").url, "kept")
    victim = postmaster.find_postmaster(attachment.place.data)
    victim.send_signal(signal.SIGTERM)
    victim.wait(30)
    assert attachment.is_server_alive() is False
    assert kept(attachment.attach("things").url) == "kept"
    attachment.detach()


def test_what_a_forked_child_does_leaves_its_parents_hold_alone(home):
    attachment = Attachment(home, QUICK)
    url = attachment.attach("things").url
    child = os.fork()
    if child == 0:
        os._exit(0 if attachment.detach() is False else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert query(url, "select 1") == 1
    assert attachment.detach() is True
