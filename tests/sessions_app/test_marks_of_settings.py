"""Changes of settings stand on the occupancy chart, at the event they came with, and lead to what changed."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from talk import Talk, passes

from sessions_app import services
from sessions_app.models import SessionEvent
from sessions_app.pages.setting_marks import read_settings_changes

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(project):
    owner = User.objects.create_user("olga")
    services.add_member(project, owner, "owner")
    client = Client()
    client.force_login(owner)
    return client


@pytest.fixture
def changed(session, rows):
    """Three turns, other settings of the project, three turns, own settings of the session, one turn."""
    talk = Talk(rows)
    talk.turns(3)
    services.save_policy(session.project_id, {"compression": {"micro_compact": True, "target_ratio": 0.1}}, None)
    first = rows.session.last_seq
    talk.turns(3, first=3, words=2_000)
    services.save_session_policy(session.pk, {"compression": {"threshold": 0.9}}, None)
    second = rows.session.last_seq
    talk.turns(1, first=6, words=2_000)
    return first, second


def test_a_change_stands_at_the_first_event_under_it_and_names_its_revision(session, rows, changed):
    found = read_settings_changes(rows.session)
    assert [(one.number, one.seq) for one in found] == [(2, changed[0] + 1), (1, changed[1] + 1)]
    assert [one.words for one in found] == [
        "Settings changed: revision 2",
        "Own settings of this session changed: 1",
    ]


def test_the_chart_and_its_figures_hold_the_marks_with_their_links(client, session, changed):
    html = client.get(f"/s/{session.public_id}/occupancy/").content.decode()
    assert "<title>Settings changed: revision 2</title>" in html
    assert 'href="/p/review/settings/revisions/2/"' in html
    assert "settings changed</span>" in html
    series = client.get(f"/s/{session.public_id}/occupancy.json").json()
    assert [one["seq"] for one in series["changes"]] == [changed[0] + 1, changed[1] + 1]


def test_the_line_of_the_threshold_names_the_newest_events_and_says_when_it_was_another_before(client, session, rows):
    Talk(rows).turns(2)
    before = rows.session.threshold_tokens
    path = f"/s/{session.public_id}/occupancy"
    assert f">threshold {before:,}<" in client.get(f"{path}/").content.decode()
    services.save_session_policy(session.pk, {"compression": {"threshold": 0.9}}, None)
    # No event has come under the new settings yet: what is drawn is still a share of the old threshold.
    assert f">threshold {before:,}<" in client.get(f"{path}/").content.decode()
    Talk(rows).turns(1, first=2)
    now = rows.session.threshold_tokens
    assert now != before
    assert f">threshold, now {now:,}<" in client.get(f"{path}/").content.decode()
    series = client.get(f"{path}.json").json()
    assert (series["threshold"], series["is_threshold_moved"]) == (now, True)


def test_a_pass_leads_to_the_revision_it_was_made_under(client, session, rows, changed):
    made = passes(rows)[0]
    html = client.get(f"/s/{session.public_id}/replay/{made.number}/1/").content.decode()
    assert f'href="/p/review/settings/revisions/{made.policy_revision.number}/"' in html
    assert client.get(f"/p/review/settings/revisions/{made.policy_revision.number}/").status_code == 200


def test_settings_saved_before_a_session_began_or_after_its_last_event_are_not_marked(session, rows):
    rows.turns(2)
    services.save_policy(session.project_id, {"compression": {"threshold": 0.6}}, None)
    assert SessionEvent.objects.filter(session=session).exists()
    assert read_settings_changes(rows.session) == ()


def test_the_ledger_leads_from_each_pass_to_its_revision_without_a_query_per_pass(client, session, rows, changed):
    with CaptureQueriesContext(connection) as captured:
        html = client.get(f"/s/{session.public_id}/passes/").content.decode()
    assert html.count('href="/p/review/settings/revisions/2/"') >= len(passes(rows)) > 1
    assert not any("policyrevision" in one["sql"] and '"id" = ' in one["sql"] for one in captured)
