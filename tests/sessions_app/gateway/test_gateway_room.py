"""The gateway works on a bounded number of requests at a time, and on none of a stranger's."""

import threading

import pytest
from gateway_client import end_gateway_threads, live_texts, session_of, user

from sessions_app.gateway import relay
from sessions_app.gateway.refusals import GatewayRefusal
from sessions_app.gateway.room import Room
from sessions_app.models import ApiToken, Session
from tests.compaction.loopback import completion

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_request_that_does_not_fit_is_refused_at_once_and_fits_when_another_has_ended(client, upstream, monkeypatch):
    monkeypatch.setattr(relay, "PROCESS_ROOM", Room(most_requests=1))
    asked, go_on = threading.Event(), threading.Event()

    def slow(handler):
        asked.set()
        assert go_on.wait(20)
        completion("first")(handler)

    upstream.script = [slow]
    answers = []
    first = threading.Thread(target=lambda: answers.append(client.post(user("one"))))
    first.start()
    assert asked.wait(20)
    refused = client.post(user("two"))
    go_on.set()
    first.join(20)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    error = refused.json()["error"]
    assert (error["code"], error["type"], error["param"]) == ("site_busy", "server_error", None)
    assert live_texts(session_of(answers[0])) == ["one", "first"]
    assert Session.objects.count() == 1
    upstream.script = [completion("second")]
    assert client.post(user("two")).status_code == 200


def test_bodies_count_together_and_one_alone_always_fits():
    room = Room(most_requests=3, most_body_bytes=10)
    room.enter(11)
    with pytest.raises(GatewayRefusal):
        room.enter(1)
    room.leave(11)
    room.enter(4)
    room.enter(6)
    with pytest.raises(GatewayRefusal):
        room.enter(1)
    room.enter(0)
    with pytest.raises(GatewayRefusal):
        room.enter(0)


def test_a_stranger_starts_no_work_and_is_refused_even_where_there_is_no_room(client, monkeypatch):
    monkeypatch.setattr(relay, "PROCESS_ROOM", Room(most_requests=0))
    started = []
    monkeypatch.setattr(relay.Relay, "start", lambda self: started.append(self))
    client.token = "nobody's"
    refused = client.post(user("hello"), content="x" * 100)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")
    assert started == []


def test_requests_that_are_refused_or_fail_give_their_place_back(client, upstream, monkeypatch):
    room = Room(most_requests=1)
    monkeypatch.setattr(relay, "PROCESS_ROOM", room)
    assert client.post(content="{").status_code == 400
    monkeypatch.setattr(relay, "place", lambda project, asked: 1 / 0)
    assert client.post(user("hello")).status_code == 500
    end_gateway_threads()
    room.enter(0)


def test_a_fault_while_the_caller_is_looked_up_is_told_in_the_shape_of_the_gateway(client, monkeypatch):
    monkeypatch.setattr(ApiToken.objects, "filter", lambda *conditions, **named: 1 / 0)
    failed = client.post(user("hello"))
    assert (failed.status_code, failed.json()["error"]["code"]) == (500, "internal")
