"""`manage.py replay SESSION`: under the settings of the session's project, and what is asked for on top."""

from io import StringIO

import pytest
from django.core.management import call_command

from sessions_app import services

pytestmark = pytest.mark.django_db
SETTINGS = {"compression": {"threshold_floor": "off", "threshold": 0.5}}


@pytest.fixture
def session(project):
    services.save_policy(project.pk, SETTINGS, None)
    type(project).objects.filter(pk=project.pk).update(window_tokens=40_000)
    return services.create_session(project, model="main")


def replay(rows, *arguments):
    """What it says on stdout and on stderr."""
    rows.turns(3)
    out, err = StringIO(), StringIO()
    call_command("replay", rows.session.public_id, "--tokens=rough", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_projects_settings_and_window_are_in_force_and_named(rows):
    said, noted = replay(rows)
    assert said.startswith("threshold 20,000 tokens\n")
    assert said.count("20,000") == 1
    assert "settings revision 2 of project review" in noted


def test_a_config_file_changes_only_the_keys_it_names(rows, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("compression:\n  threshold: 0.25\n")
    assert replay(rows, f"--config={config}")[0].startswith("threshold 10,000 tokens\n")


def test_an_assignment_and_a_window_on_the_command_line_win(rows, tmp_path):
    config = tmp_path / "config.yaml"
    config.write_text("compression:\n  threshold: 0.25\n")
    said, _ = replay(rows, f"--config={config}", "--set=threshold=0.75", "--window=20000")
    assert said.startswith("threshold 15,000 tokens\n")


def test_json_is_steps_and_result_only(rows):
    said, _ = replay(rows, "--json")
    assert all(line.startswith("{") for line in said.splitlines())
