"""The scripts that hurt a running site, in short: they run, they check, and every law holds.

The long runs are made by hand: docs/faults.md says how.
"""

import subprocess
import sys

import pytest

from tests.site.conftest import CHECKOUT

PATIENCE_SECONDS = 300


def run_script(name, *arguments):
    return subprocess.run(
        [sys.executable, str(CHECKOUT / "scripts" / "faults" / name), *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


def test_a_site_killed_again_and_again_while_it_is_fed_keeps_every_row_once_and_every_law():
    ended = run_script(
        "kill_nine.py",
        "--kills",
        "6",
        "--sessions",
        "3",
        "--turns",
        "8",
        "--rate",
        "6",
        "--minutes",
        "3",
        "--seed",
        "7",
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "6 of 6 kills" in ended.stdout
    assert "Every law holds" in ended.stdout
    assert "BROKEN" not in ended.stdout


def test_two_web_processes_and_two_workers_on_one_session_lose_nothing_and_keep_every_law():
    ended = run_script("two_of_each.py", "--appends", "120", "--minutes", "3", "--seed", "7")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "rows         120" in ended.stdout
    assert "Every law holds" in ended.stdout
    assert "BROKEN" not in ended.stdout


@pytest.mark.parametrize(
    ("name", "arguments"), [("kill_nine.py", ("--kills", "0")), ("two_of_each.py", ("--appends", "1"))]
)
def test_sizes_that_show_nothing_are_refused(name, arguments):
    assert run_script(name, *arguments).returncode == 2
