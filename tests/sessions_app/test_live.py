"""Live updates over a real web server, a real websocket and PostgreSQL's own NOTIFY."""

import json

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import transaction
from row_builder import COUNTER, assistant, user
from websockets.exceptions import ConnectionClosed

from sessions_app import live, services
from sessions_app.models import Login, ProjectMember
from tests.patience import PATIENCE_SECONDS, attempts

pytestmark = pytest.mark.django_db(transaction=True)


def read(socket):
    return json.loads(socket.recv(PATIENCE_SECONDS))


def read_until(socket, wanted):
    for _ in attempts(f"no message of type {wanted} came"):
        message = read(socket)
        if message["type"] == wanted:
            return message


def test_a_member_gets_the_newest_number_and_then_each_event(socket_for, member, rows):
    rows.append(user("before"))
    with socket_for(member) as socket:
        assert read(socket) == {"type": "snapshot", "seq": 1}
        ids = rows.append(user("a"), assistant("b"))
        assert read(socket) == {"type": "event", "seq": 3, "kind": "appended", "ids": list(ids)}
        done = rows.absorb(ids[1:])
        assert read(socket) == {"type": "event", "seq": 4, "kind": "pass", "ids": [ids[1], *done.row_ids]}


@pytest.mark.parametrize("who", ["nobody", "stranger", "superuser"])
def test_strangers_get_the_close_code_of_what_does_not_exist(socket_for, who):
    """X02: being logged in is not enough to hear what happens in a session."""
    person = {
        "nobody": lambda: None,
        "stranger": lambda: User.objects.create_user("stranger"),
        "superuser": lambda: User.objects.create_superuser("root"),
    }[who]()
    with socket_for(person) as socket, pytest.raises(ConnectionClosed) as closed:
        socket.recv(PATIENCE_SECONDS)
    assert closed.value.rcvd.code == 4404


def test_an_address_with_a_nul_is_closed_like_one_that_does_not_exist(socket_for, member):
    with socket_for(member, public_id="%00") as socket, pytest.raises(ConnectionClosed) as closed:
        socket.recv(PATIENCE_SECONDS)
    assert closed.value.rcvd.code == 4404


def test_a_session_that_does_not_exist_closes_alike(socket_for, member):
    with socket_for(member, public_id="bcdfghjkmnpq") as socket, pytest.raises(ConnectionClosed) as closed:
        socket.recv(PATIENCE_SECONDS)
    assert closed.value.rcvd.code == 4404


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1.evil.example", "null"])
def test_a_page_of_another_site_is_refused(socket_for, member, origin):
    """X04: a member's browser, sent by somebody else's page, must not get to read sessions."""
    with pytest.raises(Exception, match="403"), socket_for(member, origin=origin):
        pass


def test_a_change_that_is_rolled_back_is_never_told(socket_for, member, rows):
    with socket_for(member) as socket:
        assert read(socket)["seq"] == 0
        with pytest.raises(RuntimeError), transaction.atomic():
            rows.append(user("lost"))
            raise RuntimeError
        rows.append(user("kept"))
        assert read(socket)["seq"] == 1


def test_watchers_of_other_sessions_hear_nothing(socket_for, member, rows, project):
    other = services.create_session(project)
    with socket_for(member) as socket:
        read(socket)
        services.append_rows(other.pk, [user("elsewhere")], COUNTER)
        rows.append(user("here"))
        assert read(socket) == {"type": "event", "seq": 1, "kind": "appended", "ids": [rows.live()[0].pk]}


def test_the_heartbeat_carries_the_newest_number(socket_for, member, rows, monkeypatch):
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.1)
    rows.append(user("a"))
    with socket_for(member) as socket:
        assert read_until(socket, "heartbeat") == {"type": "heartbeat", "seq": 1}
        rows.append(user("b"))
        read_until(socket, "event")
        # One that was under way may still come with the number before.
        for _ in attempts("no heartbeat carried the newest number"):
            if read_until(socket, "heartbeat") == {"type": "heartbeat", "seq": 2}:
                break


def test_who_loses_access_is_shut_out_at_the_next_heartbeat(socket_for, member, monkeypatch):
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.1)
    with socket_for(member) as socket:
        read(socket)
        ProjectMember.objects.filter(user=member).delete()
        with pytest.raises(ConnectionClosed) as closed:
            for _ in attempts("the connection stayed open"):
                read(socket)
    assert closed.value.rcvd.code == 4404


def test_a_login_that_has_ended_closes_its_live_connections(socket_for, member, monkeypatch):
    monkeypatch.setattr(live, "HEARTBEAT_SECONDS", 0.1)
    with socket_for(member) as socket:
        read(socket)
        Login.objects.all().delete()
        with pytest.raises(ConnectionClosed) as closed:
            for _ in attempts("the connection stayed open"):
                read(socket)
    assert closed.value.rcvd.code == 4404


def test_after_a_broken_database_connection_clients_are_told_to_resync_and_hear_again(
    socket_for, member, rows, database_url
):
    with socket_for(member) as socket:
        read(socket)
        with psycopg.connect(database_url, autocommit=True) as admin:
            ended = admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = %s AND datname = current_database()",
                [live.APPLICATION_NAME],
            ).fetchall()
        assert len(ended) == 1
        assert read(socket) == {"type": "resync"}
        rows.append(user("after"))
        assert read(socket)["seq"] == 1


def test_a_hundred_rows_at_once_are_told_without_their_ids_when_these_are_too_many(socket_for, member, rows):
    with socket_for(member) as socket:
        read(socket)
        rows.append(*(user(f"row {number}") for number in range(400)))
        assert read(socket) == {"type": "event", "seq": 400, "kind": "appended", "ids": []}


def test_what_a_client_says_changes_nothing(socket_for, member, rows):
    with socket_for(member) as socket:
        read(socket)
        for nonsense in ("", "{", '{"type": "session.notice"}', b"\x00"):
            socket.send(nonsense)
        rows.append(user("a"))
        assert read(socket)["seq"] == 1


def test_who_watches_a_session_that_is_deleted_hears_so_at_once_and_when_they_come_back(socket_for, member, session):
    with socket_for(member) as socket:
        read(socket)
        services.delete_session(session.pk)
        with pytest.raises(ConnectionClosed) as closed:
            read(socket)
    assert closed.value.rcvd.code == 4410
    with socket_for(member) as socket, pytest.raises(ConnectionClosed) as closed:
        read(socket)
    assert closed.value.rcvd.code == 4410
    stranger = User.objects.create_user("stranger")
    with socket_for(stranger) as socket, pytest.raises(ConnectionClosed) as closed:
        read(socket)
    assert closed.value.rcvd.code == 4404
