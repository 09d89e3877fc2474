"""`manage.py feed` as a process: killed, stopped, refused."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from sessions_app.models import ApiToken, MessageRow, Session, Turn
from sessions_app.notifications import CHANNEL

PATIENCE_SECONDS = 60
TURNS = 12
# Recordings without times pause two seconds before a step: a twentieth of a second, then.
SLOWLY = "40"


@pytest.fixture
def recording(tmp_path):
    """A transcript: requests, calls, results, answers."""
    path = tmp_path / "talk.jsonl"
    with path.open("w") as file:
        for turn in range(TURNS):
            call = {"id": f"c{turn}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for message in (
                {"role": "user", "content": f"question {turn}"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"c{turn}", "content": f"result {turn}"},
                {"role": "assistant", "content": f"answer {turn}"},
            ):
                file.write(json.dumps(message) + "\n")
    return path


@pytest.fixture
def start(site_url, database_url, tmp_path):
    """Start the command against the site."""
    started = []

    def start_one(*arguments, **environment):
        told = {"DATABASE_URL": database_url, "HERMES_SITE_VAR_DIR": str(tmp_path / "var"), "HERMES_URL": site_url}
        process = subprocess.Popen(
            [sys.executable, "manage.py", "feed", *map(str, arguments)],
            cwd=settings.BASE_DIR,
            env={**os.environ, **told, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start_one
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


@pytest.fixture
def news(database_url):
    """Waits until so many rows are stored, by what the database tells those who listen."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")

        def wait_for_rows(count):
            while MessageRow.objects.count() < count:
                assert list(connection.notifies(timeout=PATIENCE_SECONDS, stop_after=1)), "no row came"

        yield wait_for_rows


def finish(process, number=None):
    if number is not None:
        process.send_signal(number)
    output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, output, errors


def check_session():
    texts = list(MessageRow.objects.order_by("position").values_list("content", flat=True))
    assert texts == [
        text for turn in range(TURNS) for text in (f"question {turn}", None, f"result {turn}", f"answer {turn}")
    ]
    turns = list(Turn.objects.order_by("number").values_list("is_finished", "interrupted"))
    assert turns == [(True, False)] * TURNS
    assert Session.objects.count() == 1


def test_a_killed_feed_goes_on_where_it_was_and_no_row_is_stored_twice(start, recording, news, site_url):
    for rows in (3, 14, 30):
        process = start(recording, "--rate", SLOWLY)
        news(rows)
        assert finish(process, signal.SIGKILL)[0] == -signal.SIGKILL
    code, output, errors = finish(start(recording, "--rate", "max", "--json"))
    assert (code, errors) == (0, f"Feeding {site_url}\n")
    report = json.loads(output)
    assert report["sessions_done"] == 1
    assert report["rows_added"] + report["rows_there"] == 4 * TURNS
    assert report["rows_there"] >= 28
    check_session()


def test_ctrl_c_ends_a_feed_cleanly_with_its_report_and_revokes_its_token(start, recording, news, site_url):
    process = start(recording, "--rate", SLOWLY)
    news(5)
    code, output, errors = finish(process, signal.SIGINT)
    assert (code, errors) == (130, f"Feeding {site_url}\n")
    assert "sessions   0 of 1 played to their end" in output
    assert output.endswith("Stopped. The same command goes on where it stopped.\n")
    assert ApiToken.objects.count() == 1
    assert not ApiToken.objects.filter(revoked_at__isnull=True).exists()
    assert finish(start(recording, "--rate", "0"))[0] == 0
    check_session()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("flaky_summarizer", "--rate", "quick"), "a rate is a number from 0, or max, not 'quick'"),
        (("flaky_summarizer", "--sessions", "0"), "a whole number from 1 to 10,000, not '0'"),
        (("flaky_summarizer", "--url", "ftp://x"), "is not the address of a site"),
        (("flaky_summarizer", "--patience", "-1"), "a number of seconds from 0 to 86,400"),
    ],
)
def test_arguments_that_mean_nothing_are_refused_with_what_is_wrong(arguments, words):
    with pytest.raises(CommandError, match=re.escape(words)):
        call_command("feed", *arguments)


def test_a_source_that_is_not_there_is_one_line_and_status_2(start):
    code, output, errors = finish(start("no-such-thing"))
    assert (code, output, len(errors.splitlines())) == (2, "", 1)
    assert "no-such-thing: there is no such session" in errors


def test_a_token_that_was_given_is_used_and_a_refusal_ends_with_status_1(start, recording, site_url):
    code, output, errors = finish(start(recording, "--token", "hms_nobody"))
    assert code == 1
    assert "given up   GET /projects was refused: 401 Send a token that is in force" in output
    assert errors == f"Feeding {site_url}\nCommandError: given up: 1 of 1 sessions\n"
    assert not ApiToken.objects.exists()


def test_where_nothing_listens_the_feed_says_so_and_stops_with_its_address(start, recording, closed_port):
    code, output, errors = finish(start(recording, "--url", f"http://127.0.0.1:{closed_port}"))
    assert (code, output) == (2, "")
    assert errors == f"CommandError: no site can be reached at http://127.0.0.1:{closed_port}: Connection refused\n"
    assert not ApiToken.objects.exists()


def test_a_feed_that_knows_of_no_site_invents_none(start, recording):
    code, output, errors = finish(start(recording, HERMES_URL=""))
    assert (code, output) == (2, "")
    assert errors.startswith("CommandError: no site is known to run here: start one (make run), or say where it is")


def test_a_project_that_is_not_there_is_one_line_and_status_2(start, recording):
    code, output, errors = finish(start(recording, "--project", "nowhere"))
    assert (code, output) == (2, "")
    assert "there is no project 'nowhere'" in errors


@pytest.fixture
def closed_port():
    """A port that belongs to this test, at which nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
