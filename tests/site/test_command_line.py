"""`manage.py` before any command runs: configuration that means nothing, and Ctrl-C while Django loads."""

import os
import signal
import subprocess
import sys

import pytest

from tests.site.conftest import CHECKOUT, PATIENCE_SECONDS


def manage(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=CHECKOUT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        ("serve", "DATABASE_URL", "nonsense"),
        ("migrate", "DATABASE_URL", "mysql://me@db/x"),
        ("help", "HERMES_SITE_POOL_MAX_SIZE", "lots"),
        ("replay", "HERMES_SITE_LOG_LEVEL", "LOUD"),
        ("check", "HERMES_SITE_DEBUG", "maybe"),
        ("no_such_command", "HERMES_SITE_TIME_ZONE", "Mars/Phobos"),
    ],
)
def test_configuration_that_means_nothing_is_one_line_that_names_the_variable(command, name, value):
    ended = manage(command, **{name: value})
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith(f"error: {name}=")
    assert len(ended.stderr.splitlines()) == 1


def test_a_data_folder_that_cannot_be_used_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    ended = manage("migrate", HERMES_SITE_VAR_DIR=str(tmp_path / "file"), HERMES_SITE_SECRET_KEY="")
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"error: The secret key can't be kept in {tmp_path}/file/secret_key (")
    assert "; set HERMES_SITE_VAR_DIR to a folder" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_ctrl_c_while_django_loads_ends_without_a_traceback(tmp_path):
    pipe = tmp_path / "secret_key"
    # Loading stops at this key until somebody writes one: a moment that can be hit without luck.
    os.mkfifo(pipe)
    command = subprocess.Popen(
        [sys.executable, "manage.py", "check"],
        cwd=CHECKOUT,
        env={**os.environ, "HERMES_SITE_VAR_DIR": str(tmp_path), "HERMES_SITE_SECRET_KEY": ""},
        stderr=subprocess.PIPE,
        text=True,
    )
    # Opening to write waits for the reader; the end stays open, so that the reader waits in turn.
    with pipe.open("wb"):
        command.send_signal(signal.SIGINT)
        _, errors = command.communicate(timeout=PATIENCE_SECONDS)
    assert (command.returncode, errors) == (130, "")
