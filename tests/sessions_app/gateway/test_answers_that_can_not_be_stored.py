"""An answer has come, and the site can't write down what it should: the client gets it all the same."""

import pytest
from django.db import DatabaseError, OperationalError, connection
from gateway_client import assistant, end_gateway_threads, live_texts, session_of, streamed, user

from sessions_app.gateway import relay
from sessions_app.main_model import keeping
from sessions_app.models import ModelCall
from tests.compaction.loopback import events

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def no_store(monkeypatch):
    def refuse(*given, **more):
        raise DatabaseError("a row is quoted here")

    monkeypatch.setattr(relay, "store_answer", refuse)
    return monkeypatch


def test_an_answer_that_can_not_be_stored_is_delivered_and_the_loss_is_shown(client, no_store, caplog):
    answer = client.post(user("hello"))
    end_gateway_threads()
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"] == "ok"
    session = session_of(answer)
    assert live_texts(session) == ["hello"]
    assert "delivered but could not be stored" in session.last_error
    assert "a row is quoted here" not in caplog.text + session.last_error


def test_the_next_request_tells_it_back(client, no_store):
    first = client.post(user("hello"))
    no_store.undo()
    second = client.post(user("hello"), assistant("ok"), user("more"))
    end_gateway_threads()
    assert session_of(second) == session_of(first)
    assert live_texts(session_of(first)) == ["hello", "ok", "more", "ok"]


def test_a_stream_comes_to_its_end_all_the_same(client, upstream, no_store):
    upstream.script = [events(*streamed("Hel", "lo"))]
    answer = client.post(user("hello"), stream=True)
    assert answer.text.rstrip().endswith("data: [DONE]")
    assert '"error"' not in answer.text


def test_an_answer_waits_for_a_database_that_is_away_for_a_moment(client, monkeypatch):
    real, tries = relay.store_answer, []

    def away_at_first(*given, **more):
        tries.append(given)
        if len(tries) < 3:
            raise OperationalError("gone")
        return real(*given, **more)

    monkeypatch.setattr(relay, "store_answer", away_at_first)
    monkeypatch.setattr(keeping, "WAITS_SECONDS", (0.0,) * 5)
    answer = client.post(user("hello"))
    assert live_texts(session_of(answer)) == ["hello", "ok"]
    assert session_of(answer).last_error == ""


def test_an_answer_is_stored_and_delivered_although_its_call_can_not_be_entered(client):
    with connection.cursor() as cursor:
        cursor.execute("alter table sessions_app_modelcall add constraint refuse check (purpose <> 'main') not valid")
    try:
        answer = client.post(user("hello"))
        end_gateway_threads()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("alter table sessions_app_modelcall drop constraint refuse")
    assert answer.status_code == 200
    assert live_texts(session_of(answer)) == ["hello", "ok"]
    assert ModelCall.objects.count() == 0
    assert "missing in the ledger" in session_of(answer).last_error
