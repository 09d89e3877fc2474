"""Downloads over slow lines hold no connection to the database, and tell of one moment however long they take."""

import json
import socket
from contextlib import ExitStack

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import Client
from row_builder import assistant, user

from sessions_app import services
from sessions_app.exporting.formats import ExportFormat, export_pieces
from sessions_app.models import MemberRole, Session
from sessions_app.queries.snapshot import SessionGone, Snapshot
from tests.serving import PATIENCE_SECONDS, cut_connections, served_site

LONG = "x" * 20_000
POOL = 10
READERS = POOL + 4


@pytest.fixture
def site(transactional_db):
    with served_site() as port:
        yield port
    cut_connections()


@pytest.fixture
def cookie(project):
    person = User.objects.create_user("olga")
    services.add_member(project, person, MemberRole.OWNER)
    client = Client()
    client.force_login(person)
    (name, morsel), *_ = client.cookies.items()
    return f"{name}={morsel.value}"


def slow_reader(port, path, cookie):
    """A reader who has asked, takes what comes first, and then nothing more. Its window is small, so little waits on
    the way."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    line.settimeout(PATIENCE_SECONDS)
    line.connect(("127.0.0.1", port))
    line.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n".encode())
    assert line.recv(12).startswith(b"HTTP/1.1 200"), "the download begins"
    return line


def lots_of_rows(rows, count=400):
    rows.append(*[one for n in range(count // 2) for one in (user(f"{n} {LONG}"), assistant(f"{n} {LONG}"))])


@pytest.mark.parametrize("name", ["export/session.jsonl?unredacted", "export/session.html", "occupancy.csv", ""])
def test_more_slow_downloads_than_connections_do_not_stop_other_pages(site, cookie, rows, name):
    lots_of_rows(rows)
    path = f"/s/{rows.session.public_id}/"
    with ExitStack() as lines:
        for _ in range(READERS):
            lines.enter_context(slow_reader(site, path + name, cookie))
        for page in ("/", path):
            answer = httpx.get(f"http://127.0.0.1:{site}{page}", headers={"Cookie": cookie}, timeout=8)
            assert answer.status_code == 200


def exported(session):
    pieces = export_pieces(Session.objects.get(pk=session.pk), ExportFormat.JSONL, is_redacted=False)
    first = next(pieces)
    return first, pieces


def records(pieces):
    """All records, without when a turn was over, which is no event of its own."""
    found = [json.loads(line) for line in b"".join(pieces).splitlines()]
    return [{name: value for name, value in one.items() if name != "ended_at"} for one in found]


@pytest.mark.django_db
def test_what_happens_while_an_export_is_read_is_not_in_it(rows):
    rows.turns(6)
    live = [row.pk for row in rows.live()]
    rows.absorb(live[5:8], text="first")
    before = records(export_pieces(rows.session, ExportFormat.JSONL, is_redacted=False))
    first, rest = exported(rows.session)
    services.undo_last_pass(rows.session_id)
    rows.absorb(live[9:12], text="second")
    services.reset_session(rows.session_id)
    rows.append(user("much later"))
    assert records([first, *rest]) == before


@pytest.mark.django_db
def test_an_export_of_a_session_that_is_deleted_meanwhile_breaks_off_instead_of_looking_whole(rows):
    rows.turns(3)
    _, rest = exported(rows.session)
    services.delete_session(rows.session_id)
    with pytest.raises(SessionGone):
        list(rest)


@pytest.mark.django_db
def test_batches_join_without_a_gap_or_a_repetition(rows, monkeypatch):
    from sessions_app.queries import snapshot

    for name in ("ROWS_A_BATCH", "LINES_A_BATCH", "PASSES_A_BATCH"):
        monkeypatch.setattr(snapshot, name, 3)
    rows.turns(5)
    for number in range(4):
        rows.absorb([next(row.pk for row in rows.live() if row.role == "tool")], text=f"pass {number}")
    whole = Snapshot(rows.session)
    assert len({then.row.pk for then in whole.rows()}) == len(list(whole.rows())) == 24
    assert [one.number for one in whole.passes()] == [1, 2, 3, 4]
    assert [one.seq for one in whole.events()] == list(range(1, rows.session.last_seq + 1))
    assert [one.number for one in whole.turns()] == [1, 2, 3, 4, 5]
