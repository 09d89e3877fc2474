"""The real OpenAI client, as a process of its own, against a site with its own web process and worker."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
TURNS = 60


@pytest.fixture
def environment(database_url):
    return {**os.environ, "DATABASE_URL": database_url}


def test_sixty_turns_with_tools_and_streams_are_stored_once_and_go_upstream_compacted(environment):
    command = [sys.executable, "scripts/openai_client_demo.py", "--turns", str(TURNS)]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2_000:]
    figures = done.stdout.replace(",", "")
    assert f"{TURNS} turns {2 * TURNS} requests" in figures
    assert f"stored: {4 * TURNS} rows" in figures
    assert "broke a rule of providers: 0" in figures
    sent, client = (int(re.search(pattern, figures)[1]) for pattern in (r"upstream: (\d+) mess", r"client: (\d+) mess"))
    assert client == 4 * TURNS + 1 and sent < client / 3
    assert int(re.search(r"micro (\d+)", figures)[1]) > TURNS // 2
