import logging
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from hermes_site.agent_log import AgentLogHandler, agent_log_path

LINE = 'micro compaction telemetry: {"event":"micro_compaction","outcome":"absorbed","session_id":"s"}'


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def log():
    handler = AgentLogHandler()
    handler.setFormatter(logging.Formatter(settings.LOGGING["formatters"]["agent_log"]["format"]))
    logger = logging.Logger("hermes.compaction")
    logger.addHandler(handler)
    yield logger
    handler.close()


def test_the_log_lies_in_the_home_that_is_set_and_else_with_the_site(tmp_path, monkeypatch):
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    assert agent_log_path() == tmp_path / "logs" / "agent.log"
    monkeypatch.delenv("HERMES_HOME")
    assert agent_log_path() == Path(settings.VAR_DIR) / "logs" / "agent.log"


def test_the_report_reads_what_is_logged(log, home):
    log.info(LINE)
    script = Path(settings.BASE_DIR) / "scripts" / "micro_compaction_report.py"
    told = subprocess.run(
        [sys.executable, script, agent_log_path()], capture_output=True, text=True, timeout=30, check=True
    ).stdout
    assert "absorbed" in told


def test_lines_go_on_in_a_new_file_when_the_old_one_was_moved_away(log, home):
    log.info(LINE)
    agent_log_path().rename(home / "old.log")
    log.info(LINE)
    assert LINE in agent_log_path().read_text()


def test_other_handlers_get_the_line_as_it_was(log, home):
    seen = []
    log.addHandler(logging.Handler())
    log.handlers[-1].emit = lambda record: seen.append(vars(record))
    log.info(LINE)
    assert LINE in agent_log_path().read_text()
    assert not {"asctime", "message"} & seen[0].keys()


def test_a_log_that_cannot_be_written_stops_nothing(log, home):
    (home / "logs").write_text("in the way")
    log.info(LINE)
    assert (home / "logs").read_text() == "in the way"


def test_passes_are_logged_there():
    assert settings.LOGGING["loggers"]["hermes.compaction"]["handlers"] == ["agent_log"]
