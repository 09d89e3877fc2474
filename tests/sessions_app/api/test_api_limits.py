"""How much one may ask, and how often."""

import threading
from datetime import timedelta

import pytest
from api_client import ApiClient, message
from asgiref.testing import ApplicationCommunicator
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from sessions_app.models import ApiToken
from sessions_app.services.tokens import PREFIX, issue_token, revoke_token, spend_request

pytestmark = pytest.mark.django_db


def test_a_body_over_the_limit_is_refused(writer, url, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100_000
    answer = writer.send(f"{url}/rows", {"rows": [message("x" * 100_000)]})
    assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
    assert "100,000 bytes" in answer.json()["detail"]
    assert writer.send(f"{url}/rows", {"rows": [message("x" * 90_000)]}).status_code == 200


async def test_a_body_over_the_limit_that_comes_in_pieces_without_its_size_is_refused(
    application, writer, url, settings
):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100_000
    headers = [(name.lower().encode(), value.encode()) for name, value in writer.headers.items()]
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/api/v1{url}/rows",
        "query_string": b"",
        "headers": [(b"host", b"testserver"), *headers],
    }
    exchange = ApplicationCommunicator(application, scope)
    for _ in range(3):
        await exchange.send_input({"type": "http.request", "body": b" " * 50_000, "more_body": True})
    await exchange.send_input({"type": "http.request", "body": b"{}", "more_body": False})
    assert (await exchange.receive_output(20))["status"] == 413
    assert b"too_large" in (await exchange.receive_output(20))["body"]
    await exchange.wait(20)


def test_a_token_that_asks_too_often_is_told_when_to_ask_again(reader, url, settings):
    settings.API_REQUESTS_A_MINUTE = 3
    assert [reader.get(url).status_code for _ in range(4)] == [200, 200, 200, 429]
    answer = reader.get(url)
    assert answer.json()["error"] == "too_many_requests"
    assert 1 <= int(answer["Retry-After"]) <= 20


def test_the_allowance_comes_back_with_time(project):
    token = issue_token(project, "t").token
    assert [spend_request(token, 2), spend_request(token, 2)] == [None, None]
    wait = spend_request(token, 2)
    assert timedelta(seconds=25) < wait <= timedelta(seconds=30)
    ApiToken.objects.filter(pk=token.pk).update(busy_until=timezone.now() + timedelta(seconds=29))
    assert spend_request(token, 2) is None


def test_one_token_does_not_use_up_the_allowance_of_another(reader, writer, url, settings):
    settings.API_REQUESTS_A_MINUTE = 1
    assert [reader.get(url).status_code, reader.get(url).status_code, writer.get(url).status_code] == [200, 429, 200]


@pytest.mark.django_db(transaction=True)
def test_requests_that_come_at_once_do_not_slip_past_the_limit(project, url, settings):
    settings.API_REQUESTS_A_MINUTE = 5
    secret, ready, statuses = issue_token(project, "t").secret, threading.Barrier(8), []

    def ask():
        client = ApiClient(secret)
        ready.wait(20)
        try:
            statuses.append(client.get(url).status_code)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(statuses) == [200] * 5 + [429] * 3


def test_a_token_is_stored_as_a_hash_and_remembers_when_it_was_used(project, url):
    issued = issue_token(project, "t")
    assert issued.secret.startswith(PREFIX)
    assert issued.secret not in str(ApiToken.objects.filter(pk=issued.token.pk).values().get())
    assert issued.token.last_used_at is None
    ApiClient(issued.secret).get(url)
    assert timezone.now() - ApiToken.objects.get(pk=issued.token.pk).last_used_at < timedelta(minutes=1)


def test_a_revoked_token_is_refused_from_then_on(project, url):
    issued = issue_token(project, "t")
    client = ApiClient(issued.secret)
    assert client.get(url).status_code == 200
    assert revoke_token(project, "t")
    assert client.get(url).status_code == 401
    assert not revoke_token(project, "t")


def test_the_command_prints_a_secret_that_works_and_only_that(project, url, capsys):
    call_command("create_token", "review", "--write", "--name", "agent")
    secret = capsys.readouterr().out.strip()
    assert ApiClient(secret).send(f"{url}/rows", {"rows": [message("x")]}).status_code == 200
    call_command("revoke_token", "review", "agent")
    assert ApiClient(secret).get(url).status_code == 401


def test_without_the_word_write_the_command_makes_a_token_that_reads(project, url, capsys):
    call_command("create_token", "review", "--name", "watcher")
    client = ApiClient(capsys.readouterr().out.strip())
    assert client.get(url).status_code == 200
    assert client.send(f"{url}/rows", {"rows": [message("x")]}).status_code == 403


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nowhere", "--name", "x"], "no project 'nowhere'; this makes one: manage.py create_project nowhere"),
        (["review", "--name", " "], "1 to 100 characters"),
        (["review", "--name", "taken"], "already"),
    ],
)
def test_a_token_that_cannot_be_made_is_refused_with_the_reason(project, arguments, why):
    issue_token(project, "taken")
    with pytest.raises(CommandError, match=why):
        call_command("create_token", *arguments)


def test_an_unknown_token_cannot_be_revoked(project):
    with pytest.raises(CommandError, match="no token in force"):
        call_command("revoke_token", "review", "x")


def test_an_address_with_a_nul_leads_nowhere(reader, run):
    assert [reader.get(f"/sessions/%00{end}").status_code for end in ("", "/rows", f"/runs/{run.pk}")] == [404] * 3
