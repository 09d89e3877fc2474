"""Acting on a session from its page, as an editor; readers and strangers can't."""

import json

import pytest
from django.contrib.auth.models import User
from django.db import connection
from row_builder import NewMessage
from talk import MICRO_PASSES, Talk, passes, with_settings

from compaction.messages import Message, Role
from sessions_app import services
from sessions_app.models import MemberRole, Session

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(project):
    return with_settings(project, MICRO_PASSES)


@pytest.fixture
def session(project):
    return services.create_session(project, "A long review", window_tokens=8_000, model="main")


@pytest.fixture
def talked(rows):
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    Talk(rows).turns(10)
    assert passes(rows)
    return rows


def login(client, project, role):
    person = User.objects.create_user(f"{role}-person")
    if project is not None:
        services.add_member(project, person, role)
    client.force_login(person)


@pytest.fixture
def editor(client, project):
    login(client, project, MemberRole.EDITOR)
    return client


def path(rows):
    return f"/s/{rows.session.public_id}/act/"


def waiting_jobs():
    with connection.cursor() as cursor:
        cursor.execute("SELECT args FROM procrastinate_jobs WHERE task_name LIKE '%%run_pass' ORDER BY id")
        return [args for (args,) in cursor.fetchall()]


def test_the_page_offers_what_can_be_done_and_tells_what_calls_came_to(editor, talked):
    text = editor.get(path(talked)).content.decode()
    assert f"takes back pass {passes(talked)[-1].number} (micro)" in text
    assert "Compact in a batch" in text
    assert "calls reported no tokens" in text
    assert "The cost of " in text


@pytest.mark.parametrize(("action", "step", "focus"), [("batch", 2, "the parser"), ("micro", 1, "")])
def test_a_pass_that_is_asked_for_waits_as_a_job(editor, talked, action, step, focus):
    answer = editor.post(path(talked), {"action": action, "focus": focus})
    assert answer.status_code == 302
    assert answer.url == f"/s/{talked.session.public_id}/passes/"
    [asked] = [json.loads(one) if isinstance(one, str) else one for one in waiting_jobs()]
    assert (asked["session_id"], asked["step"], asked["focus"]) == (talked.session_id, step, focus)


def test_an_undo_takes_back_the_newest_pass_and_holds_for_the_given_turns(editor, talked):
    newest = passes(talked)[-1]
    assert editor.post(path(talked), {"action": "undo", "turns": "3"}).status_code == 302
    newest.refresh_from_db()
    assert newest.undone_seq is not None
    assert (talked.session.is_held, talked.session.held_until_turn) == (True, talked.session.turns_total + 3)


def test_an_undo_without_a_pass_says_so(editor, rows):
    answer = editor.post(path(rows), {"action": "undo"})
    assert answer.status_code == 422
    assert "There is no pass that could be taken back." in answer.content.decode()


def test_passes_are_held_and_resumed(editor, talked):
    editor.post(path(talked), {"action": "hold"})
    assert (talked.session.is_held, talked.session.held_until_turn) == (True, None)
    assert "Resume automatic passes" in editor.get(path(talked)).content.decode()
    editor.post(path(talked), {"action": "resume"})
    assert not talked.session.is_held


def test_a_reset_wants_to_be_confirmed(editor, talked):
    answer = editor.post(path(talked), {"action": "reset"})
    assert answer.status_code == 422
    assert "Tick the box if you are sure." in answer.content.decode()
    assert talked.session.reset_seq is None
    assert editor.post(path(talked), {"action": "reset", "is_sure": "1"}).status_code == 302
    assert talked.texts() == ["rules"]
    assert "no pass that could be taken back" in editor.get(path(talked)).content.decode()


def test_a_branch_is_shown_at_once(editor, talked):
    answer = editor.post(path(talked), {"action": "branch", "seq": "5"})
    branch = Session.objects.get(parent_link="branch")
    assert answer.url == f"/s/{branch.public_id}/"
    assert branch.live_rows == 5


@pytest.mark.parametrize("seq", ["", "0", "100000", "five"])
def test_a_branch_at_no_event_is_refused_at_the_field(editor, talked, seq):
    answer = editor.post(path(talked), {"action": "branch", "seq": seq})
    assert answer.status_code == 422
    assert "field-error" in answer.content.decode()
    assert Session.objects.count() == 1


def test_an_imported_session_can_only_be_branched(editor, talked):
    Session.objects.filter(pk=talked.session_id).update(source="hermes")
    assert "Compact in a batch" not in editor.get(path(talked)).content.decode()
    for action in ("batch", "micro", "undo", "hold", "resume", "reset"):
        answer = editor.post(path(talked), {"action": action, "is_sure": "1"})
        assert answer.status_code == 422, action
        assert "Branch it, and act on the branch." in answer.content.decode()
    assert editor.post(path(talked), {"action": "branch", "seq": "5"}).status_code == 302


@pytest.mark.parametrize("action", ["", "destroy"])
def test_an_unknown_action_does_nothing(editor, talked, action):
    before = talked.session.last_seq
    assert editor.post(path(talked), {"action": action}).status_code == 422
    assert talked.session.last_seq == before


def test_a_reader_sees_the_page_and_can_do_nothing(client, project, talked):
    login(client, project, MemberRole.VIEWER)
    assert "You can read this project but not change it." in client.get(path(talked)).content.decode()
    before = talked.session.last_seq
    for action in ("batch", "undo", "hold", "reset", "branch"):
        assert client.post(path(talked), {"action": action, "seq": "5", "is_sure": "1"}).status_code == 403
    assert talked.session.last_seq == before
    assert Session.objects.count() == 1


def test_a_stranger_learns_nothing(client, talked):
    login(client, None, MemberRole.OWNER)
    assert client.get(path(talked)).status_code == 404
    assert client.post(path(talked), {"action": "undo"}).status_code == 404
