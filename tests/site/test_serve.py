"""`manage.py serve` as a user meets it: started, used, hurt and stopped."""

import http.cookiejar
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import psycopg
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as websocket

from hermes_site.postgres.postmaster import find_postmaster, leftovers, read_pid_file
from tests.site.conftest import CHECKOUT, PATIENCE_SECONDS

LINK = re.compile(r"http://\S+/login/once/\S+")


class Site:
    """A running site. `lines` is what it has printed so far."""

    def __init__(self, folder):
        self.folder = folder
        self.data = folder / "var" / "postgres" / "data"
        self.process = start_command(folder, "serve", "--port", "0", "--no-samples")
        self.lines = []
        self.unread = queue.Queue()
        self.reader = threading.Thread(target=self.read_lines, daemon=True)
        self.reader.start()

    def read_lines(self):
        for line in self.process.stdout:
            self.lines.append(line)
            self.unread.put(line)
        self.unread.put(None)

    def wait_for(self, words):
        """Read on until a line has these words."""
        try:
            while line := self.unread.get(timeout=PATIENCE_SECONDS):
                if words in line:
                    return line
        except queue.Empty:
            pass
        raise AssertionError(f"{words!r} did not appear in:\n{''.join(self.lines)}")

    def up(self):
        self.url = self.wait_for("Serving on").split()[2].rstrip("/")
        self.link = LINK.search(self.wait_for("Log in")).group()
        self.family = psutil.Process(self.process.pid).children()
        return self

    @property
    def postmaster(self):
        return find_postmaster(self.data)

    def child(self, module):
        return next(child for child in children_of(self.process.pid) if module in child.cmdline())

    def send(self, number):
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_SECONDS)
        # A child that outlives its parent may still hold the pipe.
        self.reader.join(PATIENCE_SECONDS)
        return code

    def end(self):
        if self.process.poll() is None:
            self.send(signal.SIGKILL)
        self.reader.join(PATIENCE_SECONDS)
        self.process.stdout.close()


def children_of(number):
    return psutil.Process(number).children()


def start_command(folder, *arguments, stderr=subprocess.STDOUT):
    environment = {**os.environ, "HERMES_SITE_VAR_DIR": str(folder / "var"), "PYTHONUNBUFFERED": "1"}
    environment.pop("DATABASE_URL", None)
    environment.pop("HERMES_SITE_ALLOWED_HOSTS", None)
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def run_command(folder, *arguments):
    command = start_command(folder, *arguments, stderr=subprocess.PIPE)
    output, errors = command.communicate(timeout=PATIENCE_SECONDS)
    return command.returncode, output, errors


@pytest.fixture(scope="session")
def prepared_var():
    """What a site keeps after its first start, made once: it spares most tests the set-up and the waiting for disks."""
    folder = Path(tempfile.mkdtemp(prefix="hermes-site-"))
    folder.chmod(0o755)
    code, _, errors = run_command(folder, "migrate", "--verbosity", "0")
    assert code == 0, errors
    with (folder / "var" / "postgres" / "data" / "postgresql.auto.conf").open("a") as settings:
        settings.write("fsync = off\n")
    yield folder / "var"
    shutil.rmtree(folder)


@pytest.fixture
def serve(open_folder, prepared_var):
    """Start a site in the folder, with what an earlier start left there; `is_new` starts it with nothing."""
    sites = []

    def start(is_new=False):
        if not is_new and not (open_folder / "var").exists():
            subprocess.run(["cp", "-a", str(prepared_var), str(open_folder / "var")], check=True)
        sites.append(Site(open_folder))
        return sites[-1]

    yield start
    for site in sites:
        site.end()


def browser():
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    return urllib.request.build_opener(cookies, KeepTheStatus)


class KeepTheStatus(urllib.request.HTTPErrorProcessor):
    """A page with an error status is a page."""

    def http_response(self, request, response):
        return response if response.status >= 400 else super().http_response(request, response)

    https_response = http_response


def status(url, opener=None):
    with (opener or browser()).open(url, timeout=PATIENCE_SECONDS) as response:
        return response.status


def all_ended(processes):
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE_SECONDS)
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


def test_the_link_it_prints_logs_the_owner_in_once(serve):
    site = serve().up()
    assert status(f"{site.url}/healthz") == 200
    opener = browser()
    with opener.open(site.link, timeout=PATIENCE_SECONDS) as response:
        assert response.url == f"{site.url}/"
    assert {cookie.name for cookie in cookies_of(opener)} >= {"hermes_sessions_login"}
    assert status(site.link) == 410


def cookies_of(opener):
    return next(handler.cookiejar for handler in opener.handlers if hasattr(handler, "cookiejar"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_asked_to_stop_it_stops_everything_in_order(serve, number):
    site = serve().up()
    family = site.family
    assert len(family) == 3
    assert site.send(number) == 0
    assert site.lines[-1] == "Stopped.\n"
    assert all_ended(family)
    assert leftovers(site.data) == []
    assert "Traceback" not in "".join(site.lines)


def test_with_a_live_connection_open_it_stops_all_the_same(serve):
    site = serve().up()
    host, port = site.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        assert site.send(signal.SIGTERM) == 0


def test_killed_it_takes_its_children_and_the_database_with_it_and_starts_again(serve):
    site = serve().up()
    family = site.family
    site.send(signal.SIGKILL)
    assert all_ended(family)
    assert leftovers(site.data) == []
    again = serve().up()
    assert status(f"{again.url}/healthz") == 200
    assert again.send(signal.SIGTERM) == 0


def test_killed_together_with_database_web_and_worker_it_starts_again_with_what_was_stored(serve, open_folder):
    site = serve().up()
    assert status(site.link) < 500
    for process in (*site.family, psutil.Process(site.process.pid)):
        process.kill()
    site.end()
    again = serve().up()
    assert status(site.link.replace(site.url, again.url)) == 410, "the used link is still known as used"
    assert again.send(signal.SIGTERM) == 0


@pytest.mark.parametrize(("module", "name"), [("hermes_site.serve.web", "web"), ("hermes_site.serve.worker", "worker")])
def test_a_child_that_is_killed_is_started_again(serve, module, name):
    site = serve().up()
    first = site.child(module)
    first.kill()
    site.wait_for(f"The {name} process was ended by SIGKILL; starting it again.")
    # The socket is the parent's: a request made now waits for the new process instead of failing.
    assert status(f"{site.url}/healthz") == 200
    assert site.send(signal.SIGTERM) == 0
    assert all_ended([first])


def test_a_database_that_is_killed_is_started_again_under_the_running_site(serve):
    site = serve().up()
    assert state_of_a_new_job(site) == "succeeded", "web and worker are at work"
    first = site.postmaster
    first.kill()
    site.wait_for("The database ended; starting it again.")
    site.wait_for("The database is back.")
    assert site.postmaster.pid != first.pid
    assert status(f"{site.url}/healthz") == 200
    site.wait_for("The worker process ended with code 1; starting it again.")
    assert state_of_a_new_job(site) == "succeeded"
    assert site.send(signal.SIGTERM) == 0


def state_of_a_new_job(site):
    """Put a job into the queue of a running site, and wait for the worker to have done with it."""
    defer = "app.configure_task('builtin:procrastinate.builtin_tasks.remove_old_jobs').defer(max_hours=1)"
    code, output, errors = run_command(
        site.folder, "shell", "-v", "0", "-c", f"from procrastinate.contrib.django import app; print({defer})"
    )
    assert code == 0, errors
    with connect_to_database(site) as connection:
        deadline = time.monotonic() + PATIENCE_SECONDS
        state = "todo"
        while state in ("todo", "doing") and time.monotonic() < deadline:
            (state,) = connection.execute(
                "select status::text from procrastinate_jobs where id = %s", [int(output)]
            ).fetchone()
    return state


def test_the_worker_does_what_is_put_into_the_queue(serve):
    site = serve().up()
    assert state_of_a_new_job(site) == "succeeded"
    assert site.send(signal.SIGTERM) == 0


def test_the_websocket_it_serves_lets_the_owner_in_and_other_origins_and_strangers_not(serve, open_folder):
    site = serve().up()
    source = open_folder / "chat.json"
    source.write_text('[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]')
    code, _, errors = run_command(open_folder, "import_sessions", str(source))
    assert code == 0, errors
    with connect_to_database(site) as connection:
        (public_id,) = connection.execute("select public_id from sessions_app_session").fetchone()
    opener = browser()
    opener.open(site.link, timeout=PATIENCE_SECONDS).close()
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies_of(opener))
    address = f"{site.url.replace('http', 'ws')}/ws/s/{public_id}/"

    with websocket(address, origin=site.url, additional_headers={"Cookie": cookies}) as socket_of_owner:
        assert json.loads(socket_of_owner.recv(PATIENCE_SECONDS))["type"] == "snapshot"
    with websocket(address, origin=site.url) as socket_of_stranger, pytest.raises(ConnectionClosed) as closed:
        socket_of_stranger.recv(PATIENCE_SECONDS)
    assert closed.value.rcvd.code == 4404
    with pytest.raises(InvalidStatus) as refused:
        websocket(address, origin="http://evil.example", additional_headers={"Cookie": cookies})
    assert refused.value.response.status_code == 403
    assert site.send(signal.SIGTERM) == 0


def connect_to_database(site):
    sockets = str(read_pid_file(site.data).sockets)
    return psycopg.connect(host=sockets, user="postgres", dbname="hermes_sessions", autocommit=True)


def test_a_taken_port_is_one_sentence_and_starts_nothing(open_folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, output, errors = run_command(open_folder, "serve", "--port", str(port))
    assert code == 1
    assert output == ""
    assert errors == (
        f"CommandError: Port {port} on 127.0.0.1 is taken by another program: "
        "stop that, or choose another with --port N (make run PORT=N).\n"
    )
    assert not (open_folder / "var" / "postgres").exists()


@pytest.mark.parametrize("port", ["99999", "-1", "http", "8000.0"])
def test_a_port_that_is_none_is_refused(open_folder, port):
    code, output, errors = run_command(open_folder, "serve", f"--port={port}")
    assert (code, output) == (2, "")
    assert errors.splitlines()[-1].endswith(f"a port is a whole number from 0 to 65535, not '{port}'")


def test_an_unknown_host_is_one_sentence(open_folder):
    code, _, errors = run_command(open_folder, "serve", "--host", "no.such.host.invalid")
    assert code == 1
    assert errors.startswith("CommandError: The host 'no.such.host.invalid' is unknown on this machine")


def test_a_database_that_cannot_run_is_one_sentence_without_a_traceback(open_folder):
    (open_folder / "var").mkdir()
    (open_folder / "var" / "postgres").write_text("in the way")
    code, _, errors = run_command(open_folder, "serve", "--port", "0")
    assert code == 1
    assert errors.startswith("error: The database can't be kept in")
    assert len(errors.splitlines()) == 1


def test_an_operators_database_that_does_not_answer_is_one_sentence(open_folder, monkeypatch):
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "5")
    command = subprocess.run(
        [sys.executable, "manage.py", "serve", "--port", "0"],
        cwd=CHECKOUT,
        env={**os.environ, "DATABASE_URL": f"postgresql://me:secret@/x?host={open_folder}"},
        capture_output=True,
        text=True,
    )
    assert command.returncode == 1
    assert command.stderr.startswith("error: The database of DATABASE_URL does not answer: ")
    assert len(command.stderr.splitlines()) == 1 and "secret" not in command.stderr


def test_a_link_made_later_leads_to_the_running_site(serve, open_folder):
    site = serve().up()
    code, output, errors = run_command(open_folder, "login_link")
    assert (code, errors) == (0, "")
    assert output.startswith(f"{site.url}/login/once/")
    assert site.send(signal.SIGTERM) == 0
    assert list((open_folder / "var").glob("address*")) == []


def test_other_commands_use_the_running_database_and_leave_it_running(serve, open_folder):
    site = serve().up()
    first = site.postmaster
    code, output, errors = run_command(open_folder, "login_link", "--url", site.url)
    assert (code, errors) == (0, "")
    assert site.postmaster == first
    opener = browser()
    opener.open(output.strip(), timeout=PATIENCE_SECONDS).close()
    assert "hermes_sessions_login" in {cookie.name for cookie in cookies_of(opener)}
    assert site.send(signal.SIGTERM) == 0


def test_a_command_on_its_own_starts_the_database_and_stops_it_at_its_end(open_folder):
    code, _, errors = run_command(open_folder, "migrate", "--verbosity", "0")
    assert (code, errors) == (0, "")
    assert leftovers(open_folder / "var" / "postgres" / "data") == []


def test_commands_that_need_no_database_start_none(open_folder):
    code, _, _ = run_command(open_folder, "check")
    assert code == 0
    assert not (open_folder / "var" / "postgres").exists()


def test_stopping_the_site_leaves_the_database_to_another_command_that_uses_it(serve, open_folder, use):
    site = serve().up()
    other = use(open_folder / "var" / "postgres")
    assert site.send(signal.SIGTERM) == 0
    assert site.lines[-1] == "Stopped; the database goes on for another process that uses it.\n"
    assert site.postmaster.is_running()
    assert other.detach() is True


def test_two_that_start_at_once_on_a_new_checkout_both_come_up(serve):
    one, other = serve(is_new=True), serve(is_new=True)
    for site in (one, other):
        site.up()
    assert status(f"{one.url}/healthz") == status(f"{other.url}/healthz") == 200
    assert sorted([one.send(signal.SIGTERM), other.send(signal.SIGTERM)]) == [0, 0]
    assert leftovers(one.data) == []
