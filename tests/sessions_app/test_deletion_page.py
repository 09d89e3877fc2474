"""Deleting a session from its page: told beforehand, confirmed by its id, and only by an owner."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from row_builder import RowBuilder, assistant, user

from sessions_app import services
from sessions_app.models import MemberRole, MessageRow, Session

pytestmark = pytest.mark.django_db


@pytest.fixture
def session(project):
    session = services.create_session(project, "To be <b>deleted</b>")
    RowBuilder(session.pk).append(user("hello"), assistant("hi"))
    return session


def client_of(project, role):
    someone = User.objects.create_user(f"a {role}")
    if project is not None:
        services.add_member(project, someone, role)
    client = Client()
    client.force_login(someone)
    return client


def test_the_page_says_what_goes(project, session):
    html = client_of(project, MemberRole.OWNER).get(f"/s/{session.public_id}/delete/").content.decode()
    assert "1 session with 2 rows, live and archived, 0 passes" in html
    assert "To be &lt;b&gt;deleted&lt;/b&gt;" in html


def test_branches_are_named_as_what_stays(project, session):
    branch = services.branch_session(session.pk, 1)
    html = client_of(project, MemberRole.OWNER).get(f"/s/{session.public_id}/delete/").content.decode()
    assert f'href="/s/{branch.public_id}/"' in html.partition("What stays")[2]


def test_an_owner_who_types_the_id_deletes_it(project, session):
    client = client_of(project, MemberRole.OWNER)
    answer = client.post(f"/s/{session.public_id}/delete/", {"typed": f" {session.public_id} "}, follow=True)
    assert answer.redirect_chain == [("/", 302)]
    assert f"Session {session.public_id} is deleted." in answer.content.decode()
    assert not Session.objects.exists() and not MessageRow.objects.exists()
    gone = client.get(f"/s/{session.public_id}/delete/")
    assert gone.status_code == 410 and "This session was deleted" in gone.content.decode()


def test_another_word_deletes_nothing_and_comes_back_with_its_reason(project, session):
    answer = client_of(project, MemberRole.OWNER).post(f"/s/{session.public_id}/delete/", {"typed": "yes"})
    assert answer.status_code == 422
    assert "This is not the id of the session. Nothing was deleted." in answer.content.decode()
    assert 'value="yes"' in answer.content.decode()
    assert MessageRow.objects.count() == 2


@pytest.mark.parametrize(("role", "status"), [(MemberRole.EDITOR, 403), (MemberRole.VIEWER, 403), (None, 404)])
def test_nobody_else_can(project, session, role, status):
    client = client_of(project if role else None, role)
    assert client.post(f"/s/{session.public_id}/delete/", {"typed": session.public_id}).status_code == status
    assert Session.objects.filter(pk=session.pk).exists()


def test_those_who_could_read_it_are_told_that_it_was_deleted_and_strangers_are_not(project, session):
    viewer, stranger = client_of(project, MemberRole.VIEWER), client_of(None, None)
    services.delete_session(session.pk)
    for path in ("", "passes/", "events/?tab=transcript&after=0", "export/"):
        assert viewer.get(f"/s/{session.public_id}/{path}").status_code == 410
        assert stranger.get(f"/s/{session.public_id}/{path}").status_code == 404
    assert viewer.get("/s/never-there/").status_code == 404
