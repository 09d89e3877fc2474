"""The address that a running site leaves for other commands, and the one that a person gives."""

import os
import signal
import subprocess
import sys
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from hermes_site.serve.address import announced, running_address
from tests.site.conftest import CHECKOUT, PATIENCE_SECONDS

ANNOUNCE = """
import sys
from pathlib import Path
from hermes_site.serve.address import announced
with announced(Path(sys.argv[1]), "http://127.0.0.1:9000"):
    print("up", flush=True)
    sys.stdin.read()
"""


def test_the_address_is_there_while_the_site_runs_and_not_afterwards(tmp_path):
    assert running_address(tmp_path) is None
    with announced(tmp_path / "var", "http://127.0.0.1:9000"):
        assert running_address(tmp_path / "var") == "http://127.0.0.1:9000"
    assert list((tmp_path / "var").iterdir()) == []


def test_the_address_of_a_killed_site_counts_for_nothing(tmp_path):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    site = subprocess.Popen([sys.executable, "-c", ANNOUNCE, str(tmp_path)], cwd=CHECKOUT, text=True, **pipes)
    assert site.stdout.readline() == "up\n"
    assert running_address(tmp_path) == "http://127.0.0.1:9000"
    site.send_signal(signal.SIGKILL)
    site.communicate(timeout=PATIENCE_SECONDS)
    assert len(os.listdir(tmp_path)) == 1
    assert running_address(tmp_path) is None
    with announced(tmp_path, "http://127.0.0.1:9001"):
        assert len(os.listdir(tmp_path)) == 1
        assert running_address(tmp_path) == "http://127.0.0.1:9001"


def test_a_site_that_stops_leaves_the_address_of_a_later_one(tmp_path):
    first, second = announced(tmp_path, "http://127.0.0.1:1"), announced(tmp_path, "http://127.0.0.1:2")
    first.__enter__()
    with second:
        first.__exit__(None, None, None)
        assert running_address(tmp_path) == "http://127.0.0.1:2"


def test_a_later_site_that_stops_leaves_the_address_of_the_one_that_still_runs(tmp_path):
    with announced(tmp_path, "http://127.0.0.1:1"):
        with announced(tmp_path, "http://127.0.0.1:2"):
            assert running_address(tmp_path) == "http://127.0.0.1:2"
        assert running_address(tmp_path) == "http://127.0.0.1:1"
    assert running_address(tmp_path) is None


@pytest.mark.django_db
def test_a_link_is_made_for_no_address_that_nobody_named(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    with pytest.raises(CommandError, match="no site is known to run here: start one"):
        call_command("login_link")
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "url",
    ["nonsense", "127.0.0.1:8000", "ftp://host", "http://", "http://host:99999", "http://host/?a=1", "http://a b"],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(CommandError, match="is not the address of a site"):
        call_command("login_link", f"--url={url}")


@pytest.mark.django_db
@pytest.mark.parametrize("url", ["https://sessions.example.com", "http://[::1]:9000/", "http://localhost:1/"])
def test_an_address_that_a_person_gives_is_taken(url):
    out = StringIO()
    call_command("login_link", f"--url={url}", stdout=out)
    assert out.getvalue().startswith(f"{url.rstrip('/')}/login/once/")


def test_where_no_address_can_be_left_the_site_runs_all_the_same(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with announced(tmp_path / "file" / "var", "http://127.0.0.1:9000"):
        assert running_address(tmp_path / "file" / "var") is None
