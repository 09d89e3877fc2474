"""The scripts behind `make`: what is missing is said in one line, before anything else happens."""

import os
import subprocess

import pytest

from tests.site.conftest import CHECKOUT


@pytest.fixture
def machine(tmp_path):
    """A machine on which only the programs exist that a test puts there; each writes down how it was called."""

    def put(name, script):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> "{tmp_path}/calls"\n{script}\n')
        program.chmod(0o755)

    def run(script, *arguments):
        outcome = subprocess.run(
            ["/bin/sh", str(CHECKOUT / "scripts" / script), *arguments],
            cwd=tmp_path,
            env={"PATH": str(tmp_path / "bin")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        calls = tmp_path / "calls"
        return outcome, calls.read_text().splitlines() if calls.exists() else []

    put("rm", 'exec /bin/rm "$@"')
    run.put = put
    return run


def test_with_chromium_there_nothing_is_said_or_done(machine):
    machine.put("chromium", "")
    outcome, calls = machine("ensure_chromium.sh")
    assert (outcome.returncode, outcome.stdout, outcome.stderr, calls) == (0, "", "", [])


def test_without_chromium_a_plain_user_is_told_the_command_in_one_line(machine):
    machine.put("id", "echo 1000")
    machine.put("apt-get", "")
    outcome, calls = machine("ensure_chromium.sh")
    assert outcome.returncode == 1
    assert outcome.stderr == (
        "error: The browser tests need Chromium: sudo apt-get install chromium fonts-dejavu-core fonts-noto-cjk\n"
    )
    assert calls == ["id -u"]


def test_without_chromium_root_gets_it_installed(machine):
    machine.put("id", "echo 0")
    machine.put("apt-get", "")
    outcome, calls = machine("ensure_chromium.sh")
    assert outcome.returncode == 0
    assert calls[1:] == [
        "apt-get update -qq",
        "apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core fonts-noto-cjk",
    ]


def test_without_pythons_venv_module_the_package_is_named(machine):
    machine.put("python3", 'case "$2" in *ensurepip*) exit 1;; esac')
    outcome, _ = machine("make_venv.sh", "python3", ".venv", "requirements.txt")
    assert outcome.returncode == 1
    assert outcome.stderr == "error: Python's venv module is missing: apt-get install python3-venv\n"


def test_a_python_that_is_too_old_is_named(machine):
    machine.put("python3", '[ "$1" = -V ] && { echo "Python 3.9.2"; exit 0; }; exit 1')
    outcome, _ = machine("make_venv.sh", "python3", ".venv", "requirements.txt")
    assert outcome.returncode == 1
    assert "Python 3.11 or newer is needed, and python3 is Python 3.9.2" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_without_python_its_package_is_named(machine):
    outcome, _ = machine("make_venv.sh", "python3", ".venv", "requirements.txt")
    assert outcome.returncode == 1
    assert outcome.stderr == "error: python3 is not installed: apt-get install python3 python3-venv\n"


def test_the_rest_of_an_interrupted_environment_is_made_anew(machine, tmp_path):
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "old").write_text("")
    machine.put("python3", f'[ "$2" = venv ] && {{ echo made > "{tmp_path}/made"; }}; exit 0')
    outcome, calls = machine("make_venv.sh", "python3", ".venv", "requirements.txt")
    assert (tmp_path / "made").exists()
    assert not (tmp_path / ".venv" / "old").exists()
    assert "rm -rf .venv" in calls


def test_every_command_of_make_quotes_its_paths():
    """A checkout may lie below folders with spaces: nothing absolute, and what is named is quoted."""
    # Not those of the make that runs the tests.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "VENV")}
    for target in ("run", "test", "check", "bench"):
        command = ["make", "-n", "-B", target]
        planned = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=True)
        assert str(CHECKOUT) not in planned.stdout
        assert '".venv/bin/python"' in planned.stdout
