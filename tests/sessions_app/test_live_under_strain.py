"""Live updates when things go wrong: cut and silent connections, slow clients, many that come and go, proxies."""

import json
import os
import signal
import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress

import psycopg
import pytest
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from row_builder import user
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from sessions_app import access, consumers, live, services
from sessions_app.models import EventKind, Login, MemberRole, Session
from sessions_app.notifications import Notice, notify
from sessions_app.services.tokens import issue_token
from tests.patience import PATIENCE_SECONDS, attempts, eventually

pytestmark = pytest.mark.django_db(transaction=True)
OF_THE_HUB = "FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s"


def read(opened):
    return json.loads(opened.recv(PATIENCE_SECONDS))


def read_until(opened, is_wanted):
    seen = []
    for _ in attempts("the message that was waited for did not come"):
        seen.append(read(opened))
        if is_wanted(seen[-1]):
            return seen


@pytest.fixture
def hub_pids(database_url):
    """The database's processes that serve listening connections of this site."""

    def pids():
        with psycopg.connect(database_url, autocommit=True) as admin:
            return [pid for (pid,) in admin.execute(f"SELECT pid {OF_THE_HUB}", [live.APPLICATION_NAME])]

    return pids


@pytest.fixture
def events_after(project, session):
    """What the API says happened after an event: how a client catches up."""
    secret = issue_token(project, "watcher").secret

    def ask(seq):
        address = f"/api/v1/sessions/{session.public_id}/events"
        return Client().get(address, {"after": seq}, headers={"Authorization": f"Bearer {secret}"}).json()

    return ask


def test_when_the_listening_connection_is_cut_while_events_go_on_no_client_misses_one(
    socket_for, member, rows, events_after, database_url
):
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket_for(member)) for _ in range(20)]
        for opened in sockets:
            assert read(opened) == {"type": "snapshot", "seq": 0}
        for number in range(5):
            rows.append(user(f"before {number}"))
        with psycopg.connect(database_url, autocommit=True) as admin:
            cut = admin.execute(f"SELECT pg_terminate_backend(pid) {OF_THE_HUB}", [live.APPLICATION_NAME])
            assert len(cut.fetchall()) == 1
        for number in range(5):
            rows.append(user(f"meanwhile {number}"))
        for opened in sockets:
            read_until(opened, lambda message: message["type"] == "resync")
        rows.append(user("after"))
        for opened in sockets:
            newest = read_until(opened, lambda message: message.get("seq") == 11)[-1]
            assert newest["type"] == "event"
        caught_up = events_after(5)
        assert [event["seq"] for event in caught_up["events"]] == [6, 7, 8, 9, 10, 11]


def test_a_database_connection_that_says_nothing_any_more_is_replaced(socket_for, member, rows, hub_pids, monkeypatch):
    """A cut network leaves a connection that looks alive; the heartbeat's question goes unanswered."""
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.2)
    monkeypatch.setattr(live, "ANSWER_SECONDS", 0.3)
    with socket_for(member) as opened:
        read(opened)
        (silent,) = hub_pids()
        os.kill(silent, signal.SIGSTOP)
        try:
            read_until(opened, lambda message: message["type"] == "resync")
            rows.append(user("told by another connection"))
            read_until(opened, lambda message: message["type"] == "event" and message["seq"] == 1)
        finally:
            os.kill(silent, signal.SIGCONT)


def test_a_client_that_comes_back_is_told_exactly_what_it_missed(socket_for, member, rows, events_after):
    """L05: the stream ignored where the client had been, and the events of the gap were lost."""
    with socket_for(member) as opened:
        read(opened)
        for number in range(5):
            rows.append(user(f"row {number}"))
        seen = read_until(opened, lambda message: message["seq"] == 5)
    for number in range(5):
        rows.append(user(f"missed {number}"))
    with socket_for(member) as opened:
        assert read(opened) == {"type": "snapshot", "seq": 10}
    assert [event["seq"] for event in events_after(seen[-1]["seq"])["events"]] == [6, 7, 8, 9, 10]


def test_a_number_from_before_everything_or_from_another_session_makes_a_page_read_its_rows_anew(
    member, rows, session, client
):
    """L05: an id that is too old, or from another session, must give one resync and not silence."""
    rows.append(*(user(f"row {number}") for number in range(250)))
    client.force_login(member)
    for seq in (0, 99_999):
        page = client.get(f"/s/{session.public_id}/events/", {"after": seq}).content.decode()
        assert 'data-plain="no"' in page
        assert 'data-seq="250"' in page


def test_hundreds_of_clients_that_came_and_went_leave_nothing_behind(socket_for, member, database_url):
    """L07: the server went on working for clients that had left."""
    before = set(live._hubs.values())
    with socket_for(member) as opened:
        read(opened)
        (hub,) = set(live._hubs.values()) - before
    threads = threading.active_count()
    for _ in range(10):
        with ExitStack() as stack:
            crowd = [stack.enter_context(socket_for(member)) for _ in range(20)]
            for opened in crowd:
                read(opened)
            # Not every client says goodbye.
            for opened in crowd[::2]:
                opened.socket.shutdown(socket.SHUT_RDWR)
    eventually(lambda: hub.watchers == 0, "watchers stayed")
    # One more at most: the thread in which a heartbeat asks who may still read.
    eventually(lambda: threading.active_count() <= threads + 1, "threads stayed")
    layer = get_channel_layer()
    eventually(lambda: not layer._groups and not layer._buffers, "groups or buffers stayed")
    with psycopg.connect(database_url, autocommit=True) as admin:
        assert admin.execute(f"SELECT count(*) {OF_THE_HUB}", [live.APPLICATION_NAME]).fetchone() == (1,)


def test_a_client_that_does_not_read_costs_little_keeps_nobody_waiting_and_is_told_to_resync(
    socket_for, member, session
):
    many = 3_000
    # Compressed, all of it would fit into the buffers of the operating system.
    with socket_for(member, compression=None) as slow, socket_for(member) as quick:
        read(slow)
        read(quick)
        Session.objects.filter(pk=session.pk).update(last_seq=many)
        ids = tuple(range(10**18, 10**18 + 300))
        for seq in range(1, many + 1):
            notify(Notice(session=session.pk, seq=seq, kind=EventKind.APPENDED, ids=ids))
        assert read_until(quick, lambda message: message.get("seq") == many)
        held = [buffer.qsize() for buffer in get_channel_layer()._buffers.values()]
        assert sum(held) <= 2 * get_channel_layer().capacity
        seen = read_until(slow, lambda message: message.get("seq") == many)
    told = [message["seq"] for message in seen if message["type"] == "event"]
    assert told == sorted(set(told))
    assert any(message["type"] == "resync" for message in seen)
    assert len(told) < many


def test_an_idle_connection_outlives_a_proxy_that_cuts_what_is_silent(web_port, member, session, monkeypatch):
    """L11: without a heartbeat proxies cut the stream; the default must beat the usual limit of a minute."""
    assert live.HEARTBEAT_SECONDS * 3 < 60
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.2)
    with proxy_to(web_port, idle_seconds=1.0) as port:
        headers = {"Cookie": cookie_of(member)}
        url = f"ws://127.0.0.1:{port}/ws/s/{session.public_id}/"
        with connect(url, additional_headers=headers, origin=f"http://127.0.0.1:{port}", proxy=None) as opened:
            until = time.monotonic() + 2.5
            seen = read_until(opened, lambda message: time.monotonic() > until)
            assert {message["type"] for message in seen[1:]} == {"heartbeat"}


def test_what_a_page_fetches_is_not_kept_by_proxies(client, member, session):
    """L11: an answer that a proxy keeps would be shown again after the next event."""
    client.force_login(member)
    answer = client.get(f"/s/{session.public_id}/events/", {"after": 0})
    assert "no-store" in answer.headers["Cache-Control"]


@contextmanager
def proxy_to(port, idle_seconds):
    """A proxy that ends a connection on which the server says nothing for `idle_seconds`."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def pump(source, target, limit):
            source.settimeout(limit)
            try:
                while data := source.recv(65_536):
                    target.sendall(data)
            except OSError:
                pass
            for end in (source, target):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

        def serve():
            with suppress(OSError):
                while True:
                    browser, _ = listener.accept()
                    server = socket.create_connection(("127.0.0.1", port))
                    threading.Thread(target=pump, args=(browser, server, None), daemon=True).start()
                    threading.Thread(target=pump, args=(server, browser, idle_seconds), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def cookie_of(person):
    client = Client()
    client.force_login(person)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def test_a_session_that_is_deleted_ends_the_connection(socket_for, member, session, monkeypatch):
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.1)
    with socket_for(member) as opened:
        read(opened)
        Session.objects.filter(pk=session.pk).delete()
        with pytest.raises(ConnectionClosed) as closed:
            read_until(opened, lambda message: False)
    assert closed.value.rcvd.code == 4404


def test_who_is_locked_out_is_shut_out_at_the_next_heartbeat_and_others_are_not(
    socket_for, member, project, monkeypatch
):
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.1)
    other = User.objects.create_user("otto")
    services.add_member(project, other, MemberRole.VIEWER)
    with socket_for(member) as stays, socket_for(other) as goes:
        read(stays)
        User.objects.filter(pk=other.pk).update(is_active=False)
        with pytest.raises(ConnectionClosed) as closed:
            read_until(goes, lambda message: False)
        assert closed.value.rcvd.code == 4404
        assert read_until(stays, lambda message: message["type"] == "heartbeat")


def test_a_login_that_has_ended_is_shut_out_at_the_next_heartbeat(socket_for, member, monkeypatch):
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.1)
    with socket_for(member) as opened:
        read_until(opened, lambda message: message["type"] == "heartbeat")
        Login.objects.filter(user_id=member.pk).delete()
        with pytest.raises(ConnectionClosed) as closed:
            read_until(opened, lambda message: False)
    assert closed.value.rcvd.code == 4404


def test_a_heartbeat_asks_the_database_once_however_many_watch(socket_for, member, session, monkeypatch):
    asked = []
    monkeypatch.setattr(access, "still_watching", lambda watchers: asked.append(set(watchers)) or set(watchers))
    looked_up = []
    find = access.get_session
    monkeypatch.setattr(access, "get_session", lambda *what: looked_up.append(what) or find(*what))
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.1)
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket_for(member)) for _ in range(10)]
        for opened in sockets:
            for _ in range(2):
                read_until(opened, lambda message: message["type"] == "heartbeat")
    assert len(looked_up) == 10
    assert max(map(len, asked)) == 10


def test_while_the_site_does_not_hear_the_database_clients_are_told_to_come_again(socket_for, member, monkeypatch):
    monkeypatch.setattr(consumers, "HUB_PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(live, "_connection_parameters", lambda: {"host": "127.0.0.1", "port": 1})
    with socket_for(member) as opened, pytest.raises(ConnectionClosed) as closed:
        opened.recv(PATIENCE_SECONDS)
    assert closed.value.rcvd.code == 1013


def test_events_do_not_wait_for_the_question_who_may_still_read(socket_for, member, rows, monkeypatch):
    """When many connect at once that question takes its time; events must not, and the database is not to blame."""
    asked, may_answer = threading.Event(), threading.Event()

    def take_time(watchers):
        asked.set()
        may_answer.wait(PATIENCE_SECONDS)
        return set(watchers)

    monkeypatch.setattr(access, "still_watching", take_time)
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr(live, "ANSWER_SECONDS", 0.3)
    with socket_for(member) as opened:
        assert read(opened)["type"] == "snapshot"
        assert asked.wait(PATIENCE_SECONDS)
        for number in range(1, 6):
            rows.append(user(f"row {number}"))
            assert read(opened)["seq"] == number
        may_answer.set()
        assert [message["type"] for message in read_until(opened, lambda message: message["type"] != "event")] == [
            "heartbeat"
        ]
