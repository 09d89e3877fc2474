"""Homes for embedded servers, and processes that use them. Everything started here is ended here."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from hermes_site.postgres.account import unprivileged_accounts
from hermes_site.postgres.errors import ServerUnavailable
from hermes_site.postgres.place import find_place
from hermes_site.postgres.postmaster import find_postmaster, leftovers, stop

CHECKOUT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60


class DatabaseUser:
    """A process running database_user.py; `facts` is what it said when it had attached."""

    def __init__(self, home, programs="any"):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.site.database_user", str(home), programs],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def read(self):
        return json.loads(self.process.stdout.readline())

    def attached(self):
        self.facts = self.read()
        return self.facts

    @property
    def postmaster(self):
        return psutil.Process(self.facts["postmaster"])

    def detach(self):
        """Let it go; returns whether it was the last one."""
        self.process.stdin.close()
        answer = self.read()["was_last"]
        assert self.process.wait(PATIENCE_SECONDS) == 0
        return answer

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)

    def end(self):
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()


@pytest.fixture
def open_folder():
    """A new folder that every user of the machine may enter, unlike pytest's own. Servers below it are stopped."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-site-"))
    folder.chmod(0o755)
    yield folder
    for version in list(folder.rglob("data/PG_VERSION")):
        clear_away(version.parent)
    shutil.rmtree(folder)


def clear_away(data):
    """Stop the server of a data folder, and remove the socket folder that a killed one leaves."""
    if process := find_postmaster(data):
        stop(process, data)
    # Some tests leave data that nobody could open.
    with suppress(ServerUnavailable):
        place = find_place(data.parent)
        if place.has_private_sockets():
            shutil.rmtree(place.sockets)


@pytest.fixture
def home(open_folder):
    return open_folder / "postgres"


@pytest.fixture
def data(home):
    """An empty data folder in a home, which belongs to the user that would run the server."""
    folder = home / "data"
    folder.mkdir(parents=True)
    if os.geteuid() == 0:
        account = next(unprivileged_accounts())
        os.chown(folder, account.uid, account.gid)
    return folder


@pytest.fixture
def use():
    """Start a user of the server in a home; `use(home)` has attached when it returns."""
    users = []

    def start(home, programs="any", wait=True):
        user = DatabaseUser(home, programs)
        users.append(user)
        if wait:
            user.attached()
        return user

    yield start
    for user in users:
        user.end()


@pytest.fixture
def plain_folder(open_folder):
    """A folder that belongs to the user as whom `without_rights` works."""
    folder = open_folder / "of a plain user"
    folder.mkdir()
    if os.geteuid() == 0:
        account = next(unprivileged_accounts())
        os.chown(folder, account.uid, account.gid)
    return folder


@pytest.fixture
def without_rights():
    """Do something as a user without rights and return what it returns: ourselves, or another user if we are root.

    In a fork, because the interpreter may lie where that user could not start it.
    """

    def work(deed):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                become_unprivileged()
                os.write(writer, json.dumps(deed()).encode())
                status = 0
            finally:
                os._exit(status)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            answer = pipe.read()
        assert os.waitpid(child, 0)[1] == 0
        return json.loads(answer)

    return work


def become_unprivileged():
    if os.geteuid() == 0:
        account = next(unprivileged_accounts())
        os.setgroups([])
        os.setgid(account.gid)
        os.setuid(account.uid)


@pytest.fixture
def processes_of():
    """The living PostgreSQL processes that work in a home's data folder."""
    return lambda home: leftovers(find_place(home).data)
