"""What the page of actions says an action would change is what it then changes."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from page_reading import client_of
from talk import EARLY_MICRO_PASSES, Talk, with_settings

from sessions_app import services
from sessions_app.models import CompactionPass, MemberRole, Session
from sessions_app.pages.action_effects import branch_effect, reset_effect, undo_effect

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(project):
    return with_settings(project, EARLY_MICRO_PASSES)


@pytest.fixture
def session(project):
    return services.create_session(project, "A long talk", window_tokens=16_000, model="main")


@pytest.fixture
def client(owner):
    return client_of(owner)


@pytest.fixture
def past(rows):
    Talk(rows).turns(8, words=200)
    return rows


def newest_pass(session):
    return CompactionPass.objects.filter(session=session, committed=True).order_by("-number").first()


def page(client, session, query=""):
    response = client.get(f"/s/{session.public_id}/act/{query}")
    assert response.status_code == 200
    return response.content.decode()


def test_an_undo_changes_what_was_said(session, past):
    effect = undo_effect(past.session, newest_pass(session))
    before = past.session
    services.undo_last_pass(session.pk)
    after = past.session
    assert after.live_tokens == effect.tokens_after
    assert after.live_rows == before.live_rows + effect.revived_rows - effect.withdrawn_rows
    assert effect.version == effect.earlier_version + 1


def test_the_undo_of_the_first_pass_leaves_no_summary_and_says_so(client, session, rows):
    talk = Talk(rows)
    number = 0
    while not newest_pass(session):
        talk.turn(number, words=200)
        talk.finalize()
        number += 1
    html = page(client, session)
    assert "summary v1 is withdrawn" in html
    assert "no summary is live then" in html


def test_a_reset_takes_out_what_was_said(session, past):
    effect = reset_effect(past.session, 1)
    services.reset_session(session.pk)
    after = past.session
    assert (after.live_rows, after.live_tokens) == (effect.kept_rows, effect.kept_tokens)


@pytest.mark.parametrize("seq", [1, 9, None])
def test_a_branch_begins_with_what_was_said(session, past, seq):
    effect = branch_effect(past.session, seq)
    branch = services.branch_session(session.pk, effect.seq)
    assert (branch.live_rows, branch.live_tokens) == (effect.rows, effect.tokens)
    assert branch_effect(past.session, 10_000) is None


def test_the_page_says_for_the_event_in_its_address_what_a_branch_would_hold(client, session, past):
    effect = branch_effect(past.session, 9)
    html = page(client, session, "?seq=9")
    assert f"begins with {effect.rows} rows, {effect.tokens:,} tokens" in html
    assert 'value="9"' in html
    assert "?show=model&amp;at=9" in html


def test_a_row_and_a_pass_lead_to_a_branch_at_their_own_event(client, session, past):
    html = client.get(f"/s/{session.public_id}/").content.decode()
    assert re.search(rf'href="/s/{session.public_id}/act/\?seq=1#branch"', html)
    made_by = newest_pass(session)
    replay = client.get(f"/s/{session.public_id}/replay/{made_by.number}/1/").content.decode()
    assert f'/act/?seq={made_by.seq - 1}#branch"' in replay


@pytest.mark.parametrize("seq", ["0", "x", "-4", "99999999999999999999", "10000"])
def test_an_event_that_there_is_not_shows_the_page_without_what_it_would_hold(client, session, past, seq):
    assert "Branch here" in page(client, session, f"?seq={seq}")


def test_strangers_and_readers_change_nothing(project, session, past):
    reader = User.objects.create_user("vera")
    services.add_member(project, reader, MemberRole.VIEWER)
    client = Client()
    client.force_login(reader)
    assert "but not change it" in page(client, session)
    count = Session.objects.count()
    assert client.post(f"/s/{session.public_id}/act/", {"action": "branch", "seq": 1}).status_code == 403
    assert Session.objects.count() == count
